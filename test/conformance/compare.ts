/** The members a cold start must print; a full scan prints those of `expect.json`. */
export const coldMembers: readonly string[] = [
  'cursor',
  'digest',
  'entities',
  'gap',
  'head_seq',
  'registry_authoritative',
]

/** One member that is not as it should be. */
export interface Difference {
  readonly member: string
  readonly expected: string
  readonly actual: string
}

/** Where two results differ: members that are missing, members nobody asked for, and members that are unlike. */
export function differencesOf(
  expected: Readonly<Record<string, unknown>>,
  actual: Readonly<Record<string, unknown>>,
): Difference[] {
  const members = new Set([...Object.keys(expected), ...Object.keys(actual)])
  return [...members].sort().flatMap(member => {
    const [wanted, got] = [textOf(expected, member), textOf(actual, member)]
    return wanted === got ? [] : [{ member, expected: wanted, actual: got }]
  })
}

/** The part of a result that has these members. */
export function pick(
  result: Readonly<Record<string, unknown>>,
  members: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(members.filter(one => Object.hasOwn(result, one)).map(one => [one, result[one]]))
}

function textOf(result: Readonly<Record<string, unknown>>, member: string): string {
  return Object.hasOwn(result, member) ? sortedText(result[member]) : 'nothing'
}

/** JSON text with sorted keys, so that their order does not count; `__proto__` is a key like any other. */
function sortedText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedText).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined'
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, one]) => `${JSON.stringify(key)}:${sortedText(one)}`).join(',')}}`
}

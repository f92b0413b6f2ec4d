import type { Finding, FindingKind, Findings } from '@kim/observer-sdk/verify'

/** What an answer may lack, for a person; no lines where it lacks nothing. */
export function missingText(findings: Findings): string[] {
  const all = Object.entries(findings) as [FindingKind, Finding][]
  if (all.length === 0) return []
  return [
    'this answer may be incomplete:',
    ...all.flatMap(([kind, { count, examples }]) => [
      `  ${kind} × ${count.toLocaleString('en-US')}`,
      ...examples.slice(0, 3).map(({ segment, offset, seq, detail }) => {
        const place = [
          segment,
          offset === undefined ? undefined : `byte ${offset}`,
          seq === undefined ? undefined : `seq ${seq}`,
        ]
        const where = place.filter(part => part !== undefined).join(', ')
        return `      ${where === '' ? '' : `${where}: `}${detail}`
      }),
    ]),
    'find the damage: kim-replay verify',
  ]
}

import type { Prng } from '../kit/index.js'

/** How a JSON text is laid out. */
export interface JsonStyle {
  readonly random: Prng
  /** Keys in the order of their code units, no white space, no needless escapes: our writer's way. */
  readonly strict: boolean
}

/** A value as JSON text, in our writer's layout or in any other that means the same. */
export function jsonText(value: unknown, style: JsonStyle): string {
  if (typeof value === 'string') return stringText(value, style)
  if (typeof value === 'number') return numberText(value, style)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const gap = (): string =>
    !style.strict && style.random.chance(0.1) ? style.random.pick([' ', '  ', '\t', ' \r ']) : ''
  if (Array.isArray(value)) {
    return `[${gap()}${value.map(item => `${jsonText(item, style)}${gap()}`).join(',')}]`
  }
  const members = Object.entries(value).filter(([, inner]) => inner !== undefined)
  if (style.strict) members.sort(([a], [b]) => (a < b ? -1 : 1))
  else shuffle(members, style.random)
  const texts = members.map(
    ([key, inner]) => `${gap()}${stringText(key, style)}${gap()}:${gap()}${jsonText(inner, style)}${gap()}`,
  )
  return `{${texts.join(',')}}`
}

/** Puts a list in a random order, in place. */
export function shuffle<T>(list: T[], random: Prng): void {
  for (let at = list.length - 1; at > 0; at--) {
    const other = random.int(at + 1)
    ;[list[at], list[other]] = [list[other] as T, list[at] as T]
  }
}

function numberText(value: number, { random, strict }: JsonStyle): string {
  if (Object.is(value, -0)) return '-0'
  if (strict || !Number.isSafeInteger(value) || !random.chance(0.1)) return JSON.stringify(value)
  return random.pick([`${value}.0`, `${value}e0`, `${value}.00E+0`])
}

function stringText(value: string, { random, strict }: JsonStyle): string {
  const text = JSON.stringify(value)
  if (strict || value === '' || !random.chance(0.15)) return text
  const at = random.int(value.length)
  const unit = value.charCodeAt(at).toString(16).padStart(4, '0')
  return `${JSON.stringify(value.slice(0, at)).slice(0, -1)}\\u${unit}${JSON.stringify(value.slice(at + 1)).slice(1)}`
}

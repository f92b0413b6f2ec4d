/** An event as the line that the older monitor printed. */
import { limits, safeJson } from '@kim/manifest'

/** A number that Python holds as a float: a whole one keeps its `.0`. */
export class PythonFloat {
  readonly value: number

  constructor(value: number) {
    this.value = value
  }
}

/** A JSON value, with floats marked. Undefined members are left out. */
export type PythonValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | PythonFloat
  | readonly PythonValue[]
  | { readonly [key: string]: PythonValue }

/** Members that identify an event. A line that cannot hold them whole is not printed. */
const KEPT = new Set(['event', 'source', 'ts', 'id', 'persona', 'event_id', 'nonce', 'emitted', 'wake_class'])

/**
 * One event as a line that its readers accept: they treat a longer one as damaged and would not wake their agent.
 * Text is cut first, the longest first. Undefined if the members that identify the event do not fit.
 */
export function monitorLine(event: Readonly<Record<string, PythonValue>>): string | undefined {
  const members = { ...event }
  for (;;) {
    const line = pythonJson(members)
    const excess = Buffer.byteLength(line) + 1 - limits.monitorLineBytesMax
    if (excess <= 0) return line
    if (!shorten(members, excess)) return undefined
  }
}

/** Cuts the longest member that may be cut; false if there is none left. */
function shorten(members: Record<string, PythonValue>, excess: number): boolean {
  const [longest] = Object.entries(members)
    .filter(([name, value]) => !KEPT.has(name) && isCuttable(value))
    .map(([name, value]) => ({ name, value, bytes: Buffer.byteLength(pythonJson(value)) }))
    .sort((a, b) => b.bytes - a.bytes)
  if (longest === undefined) return false
  const { name, value } = longest
  if (typeof value === 'string') {
    // An escape prints up to six bytes for one: a cut by a sixth never removes too much, and the caller repeats it.
    const less = Math.max(1, Math.ceil(excess / 6))
    members[name] = firstBytes(value, Math.max(0, Buffer.byteLength(value) - less))
  } else if (Array.isArray(value)) {
    members[name] = value.slice(0, Math.floor(value.length / 2))
  }
  return true
}

function isCuttable(value: PythonValue): boolean {
  return (typeof value === 'string' || Array.isArray(value)) && value.length > 0
}

/**
 * One line of JSON with `": "` and `", "` between its parts, as Python prints it: deployed filters are regular
 * expressions over exactly that spacing.
 */
export function pythonJson(value: PythonValue): string {
  if (value instanceof PythonFloat) {
    const text = JSON.stringify(value.value)
    return /^-?\d+$/.test(text) ? `${text}.0` : text
  }
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined)
    return `{${members.map(([key, member]) => `${pythonJson(key)}: ${pythonJson(member)}`).join(', ')}}`
  }
  return typeof value === 'string' ? safeJson(JSON.stringify(value)) : JSON.stringify(value ?? null)
}

/** The first `count` code points of a text. */
export function firstCodePoints(text: string, count: number): string {
  if (text.length <= count) return text
  let end = 0
  for (let n = 0; n < count && end < text.length; n++) end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
  return text.slice(0, end)
}

/** The longest beginning of a text, in whole code points, that takes at most `bytes` in UTF-8. */
export function firstBytes(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text
  let used = 0
  let end = 0
  for (const character of text) {
    used += Buffer.byteLength(character)
    if (used > bytes) break
    end += character.length
  }
  return text.slice(0, end)
}

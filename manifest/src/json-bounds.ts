import { limits } from './limits.js'

/** True if a text holds more than half of so many levels of one bracket: no text nests deeper without that. */
function hasMany(json: string, opening: string, levels: number): boolean {
  let count = 0
  for (let at = json.indexOf(opening); at !== -1; at = json.indexOf(opening, at + 1)) {
    if (++count > levels / 2) return true
  }
  return false
}

/** Where the string ends that begins before `at`. Most of a text is in strings, so they are passed by searching. */
function endOfString(json: string, at: number): number {
  for (let end = json.indexOf('"', at); end !== -1; end = json.indexOf('"', end + 1)) {
    let before = end - 1
    while (json.charCodeAt(before) === 0x5c && before >= at) before--
    const isEscaped = (end - before) % 2 === 0
    if (!isEscaped) return end
  }
  return json.length
}

function scanNesting(json: string, outer: number): boolean {
  let depth = outer
  for (let i = 0; i < json.length; i++) {
    const unit = json.charCodeAt(i)
    if (unit === 0x22) i = endOfString(json, i + 1)
    else if (unit === 0x7b || unit === 0x5b) {
      if (++depth > limits.nestingLevelsMax) return true
    } else if (unit === 0x7d || unit === 0x5d) depth--
  }
  return false
}

/**
 * True if arrays and objects nest deeper than any reader must bear, the outermost being level 1, or one more than
 * the levels that stand around the text.
 * Asked before parsing; it counts brackets first, because few texts have enough of them to need the scan.
 */
export function exceedsNesting(json: string, outer = 0): boolean {
  const levels = limits.nestingLevelsMax - outer
  if (json.length <= levels) return false
  return (hasMany(json, '{', levels) || hasMany(json, '[', levels)) && scanNesting(json, outer)
}

/**
 * True if a parsed value holds a number beyond the range of a double, which `JSON.parse` makes infinite.
 * Walking the values costs less than looking for such literals in the text.
 */
export function exceedsNumberRange(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === Infinity || value === -Infinity
  for (const key in value) {
    const inner = (value as Record<string, unknown>)[key]
    // Most values are texts, which need no call.
    if (typeof inner !== 'string' && exceedsNumberRange(inner)) return true
  }
  return false
}

/**
 * Freezes a parsed value at every depth; false if it holds a number beyond the range of a double, and then it is of no
 * use. One walk for both: it costs more than what is done on the way.
 */
export function freezeInRange(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return !exceedsNumberRange(value)
  for (const key in value) {
    const inner = (value as Record<string, unknown>)[key]
    if (typeof inner !== 'string' && !freezeInRange(inner)) return false
  }
  Object.freeze(value)
  return true
}

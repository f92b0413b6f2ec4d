/// <reference lib="es2024.string" />
/** JSON: its values, the bounds that a reader puts on them, and reading it from bytes without making strings. */
import { Buffer } from 'node:buffer'
import { limits } from './limits.js'

/** Any value that JSON can carry. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined
}

/** True for what JSON calls an object: neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** True for 0, 1, 2 … up to the largest integer a double holds exactly. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** True for 1, 2, 3 … up to the largest integer a double holds exactly. */
export function isSeq(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0
}

/** The same bytes as a buffer. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
}

const sha256Text = /^[0-9a-f]{64}$/

/** True for 64 lower-case hex digits. */
export function isSha256(value: unknown): value is string {
  return typeof value === 'string' && sha256Text.test(value)
}

/** What a text says; undefined if it is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A value if it is a string. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** A value if it is a string and not empty. */
export function nameIn(value: unknown): string | undefined {
  return value === '' ? undefined : textIn(value)
}

/** The same value with every lone surrogate, in strings and in keys, replaced by U+FFFD. */
export function toWellFormed<T>(value: T): T
export function toWellFormed(value: JsonValue | undefined): JsonValue | undefined {
  if (typeof value === 'string') return value.toWellFormed()
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(item => toWellFormed(item))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.toWellFormed(), toWellFormed(item)]),
  )
}

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
 * True if arrays and objects nest deeper than a reader must accept. The text is inside `outer` levels.
 * Ask before parsing. It counts brackets first, because few texts have enough of them to need the scan.
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

// Reading pieces of JSON from bytes. Each function returns the place after the piece, or -1.

export const QUOTE = 0x22
export const COMMA = 0x2c
export const BACKSLASH = 0x5c
export const OPEN = 0x7b
export const CLOSE = 0x7d
/** More digits could exceed the integers that a double holds exactly. */
const DIGITS_MAX = 15

/** Memory that holds JSON, as bytes and as words. */
export class JsonBytes {
  bytes: Uint8Array = new Uint8Array()
  view: DataView = new DataView(new ArrayBuffer(0))
  /** The integer that was read last. */
  integer = 0
  /** The hash of the key that is being read. */
  hash = 0

  /** Looks at this memory from now on. */
  use(bytes: Uint8Array): void {
    if (bytes === this.bytes) return
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }
}

/** A piece of frame, in words of four bytes; the last word may overlap the one before. */
export interface Literal {
  readonly length: number
  readonly words: Int32Array
}

/** The piece of frame that a text of at least four ASCII characters is. */
export function literal(text: string): Literal {
  const bytes = Buffer.from(text)
  const words = Int32Array.from({ length: Math.ceil(bytes.length / 4) }, (_, i) =>
    bytes.readInt32LE(Math.min(i * 4, bytes.length - 4)),
  )
  return { length: bytes.length, words }
}

/** Extends an entity key's hash by the bytes of one of its strings. */
export function extendHash(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193)
}

/** What an entity key's hash begins with. */
export const HASH_SEED: number = 0x811c9dc5 | 0

/** An entity key's hash, its upper bits mixed into those that choose a bucket. */
export function finishHash(hash: number): number {
  return hash ^ (hash >>> 15)
}

/** The place after a piece of frame. A frame's fixed parts are more than half of it, so they are compared by words. */
export function skip({ bytes, view }: JsonBytes, from: number, { length, words }: Literal): number {
  const end = from + length
  if (end > bytes.length) return -1
  const last = words.length - 1
  for (let i = 0; i < last; i++) if (view.getInt32(from + i * 4, true) !== words[i]) return -1
  return view.getInt32(end - 4, true) === words[last] ? end : -1
}

/** 1 for the bytes that end or break a string, or begin an escape in it. */
const STOPS = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
)

/** The bytes that may follow a backslash, `u` apart. */
const ESCAPED: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'))

/** The place of the first byte at or after `from` that no string holds as itself; strings end in a line's `\n` at the latest. */
function stop(bytes: Uint8Array, from: number): number {
  let at = from
  while (STOPS[bytes[at] as number] === 0) at += 1
  return at
}

/** Where a string without escapes ends, or -1. */
export function plainEnd(bytes: Uint8Array, from: number): number {
  const at = stop(bytes, from)
  return bytes[at] === QUOTE ? at : -1
}

/** Where a string that may hold escapes ends, or -1 if an escape is none of JSON's. */
export function escapedEnd(bytes: Uint8Array, from: number): number {
  for (let at = stop(bytes, from); ; at = stop(bytes, at)) {
    if (bytes[at] === QUOTE) return at
    if (bytes[at] !== BACKSLASH) return -1
    if (bytes[at + 1] === 0x75 /* u */) {
      for (let i = 2; i < 6; i++) if (!isHexDigit(bytes[at + i])) return -1
      at += 6
    } else if (ESCAPED.has(bytes[at + 1] as number)) at += 2
    else return -1
  }
}

/**
 * Where a string without escapes that is part of an entity's key ends, or -1. The hash of what came before is
 * taken from `json.hash`, which is left extended.
 */
export function keyEnd(json: JsonBytes, from: number): number {
  const { bytes } = json
  let { hash } = json
  let at = from
  for (let byte = bytes[at] as number; STOPS[byte] === 0; byte = bytes[at] as number) {
    hash = extendHash(hash, byte)
    at += 1
  }
  json.hash = hash
  return bytes[at] === QUOTE && at > from ? at : -1
}

/** The place after a member whose value is a string without escapes. */
export function plainMember(json: JsonBytes, from: number, name: Literal): number {
  const start = skip(json, from, name)
  if (start < 0) return -1
  const end = plainEnd(json.bytes, start)
  return end < 0 ? -1 : end + 1
}

/** As `plainMember`, for a string that must not be empty. */
export function namedMember(json: JsonBytes, from: number, name: Literal): number {
  const end = plainMember(json, from, name)
  return end === from + name.length + 1 ? -1 : end
}

/** Where a plain non-negative integer ends, or -1; its value is left in `json.integer`. */
export function integerEnd(json: JsonBytes, from: number): number {
  const { bytes } = json
  let value = 0
  let at = from
  for (let byte = bytes[at]; isDigit(byte); byte = bytes[at]) {
    value = value * 10 + (byte as number) - 0x30
    at += 1
  }
  const digits = at - from
  if (digits === 0 || digits > DIGITS_MAX || (digits > 1 && bytes[from] === 0x30)) return -1
  json.integer = value
  return at
}

/** Where a clock's reading ends, which may have a fraction, or -1. */
export function readingEnd(json: JsonBytes, from: number): number {
  const { bytes } = json
  const end = integerEnd(json, from)
  if (end < 0 || bytes[end] !== 0x2e) return end
  let at = end + 1
  while (isDigit(bytes[at])) at += 1
  return at === end + 1 ? -1 : at
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39
}

function isHexDigit(byte: number | undefined): boolean {
  if (byte === undefined) return false
  return isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66)
}

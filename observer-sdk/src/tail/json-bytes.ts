import { Buffer } from 'node:buffer'

/** Reads pieces of JSON from bytes without making strings. Every function gives the place after, or -1. */

export const QUOTE = 0x22
export const COMMA = 0x2c
export const BACKSLASH = 0x5c
export const OPEN = 0x7b
export const CLOSE = 0x7d
/** More digits could exceed the integers that a double holds exactly. */
const DIGITS_MAX = 15

/** The bytes of a piece of frame. */
export function literal(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text))
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

export function skip(bytes: Uint8Array, from: number, expected: Uint8Array): number {
  for (let i = 0; i < expected.length; i++) if (bytes[from + i] !== expected[i]) return -1
  return from + expected.length
}

/** Where a string without escapes ends, or -1. */
export function plainEnd(bytes: Uint8Array, from: number): number {
  for (let at = from; ; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) return at
    if (byte === undefined || byte === BACKSLASH || byte < 0x20) return -1
  }
}

/** Where a string that may hold escapes ends, or -1 if an escape is none of JSON's. */
export function escapedEnd(bytes: Uint8Array, from: number): number {
  let at = from
  for (;;) {
    const byte = bytes[at]
    if (byte === QUOTE) return at
    if (byte === undefined || byte < 0x20) return -1
    if (byte !== BACKSLASH) at += 1
    else if (bytes[at + 1] === 0x75 /* u */) {
      for (let i = 2; i < 6; i++) if (!isHexDigit(bytes[at + i])) return -1
      at += 6
    } else if (isEscaped(bytes[at + 1])) at += 2
    else return -1
  }
}

/** The place after a member whose value is a string without escapes. */
export function plainMember(bytes: Uint8Array, from: number, name: Uint8Array): number {
  const start = skip(bytes, from, name)
  if (start < 0) return -1
  const end = plainEnd(bytes, start)
  return end < 0 ? -1 : end + 1
}

/** As `plainMember`, for a string that must not be empty. */
export function namedMember(bytes: Uint8Array, from: number, name: Uint8Array): number {
  const end = plainMember(bytes, from, name)
  return end === from + name.length + 1 ? -1 : end
}

/** Where a plain non-negative integer ends, or -1. */
export function integerEnd(bytes: Uint8Array, from: number): number {
  let at = from
  while (isDigit(bytes[at])) at += 1
  const digits = at - from
  if (digits === 0 || digits > DIGITS_MAX || (digits > 1 && bytes[from] === 0x30)) return -1
  return at
}

/** Where a clock's reading ends, which may have a fraction, or -1. */
export function readingEnd(bytes: Uint8Array, from: number): number {
  const end = integerEnd(bytes, from)
  if (end < 0 || bytes[end] !== 0x2e) return end
  let at = end + 1
  while (isDigit(bytes[at])) at += 1
  return at === end + 1 ? -1 : at
}

export function integerAt(bytes: Uint8Array, from: number, to: number): number {
  let value = 0
  for (let at = from; at < to; at++) value = value * 10 + (bytes[at] as number) - 0x30
  return value
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39
}

function isHexDigit(byte: number | undefined): boolean {
  if (byte === undefined) return false
  return isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66)
}

/** Whether the byte may follow a backslash: one of `"\/bfnrt`. */
function isEscaped(byte: number | undefined): boolean {
  switch (byte) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return true
    default:
      return false
  }
}

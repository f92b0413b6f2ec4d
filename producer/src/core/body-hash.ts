import { toWellFormed } from '@kim/manifest'

/** A message whose body is nowhere whole: kept out of the store, clipped, or redacted. It is never compared. */
export const NO_BODY = -1

/** A message of an earlier life whose body nobody has looked at yet. */
export const UNSEEN_BODY = -2

/**
 * Tells two bodies apart in thirty bits, so that it is one small number of memory a message. A changed body that
 * happens to have the same number is not noticed: one in a thousand million.
 */
export function bodyHash(content: string): number {
  // As the journal writes it: without lone surrogates.
  const text = toWellFormed(content)
  let a = 0x3c6ef372
  let b = 0x1b873593 ^ text.length
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    a = Math.imul(a ^ unit, 0x85ebca6b)
    b = Math.imul(b ^ (unit + at), 0xc2b2ae35)
  }
  a ^= a >>> 15
  b ^= b >>> 13
  return (Math.imul(a, 0x27d4eb2f) ^ b) >>> 2
}

/** Messages by number: their ids, and what is kept in memory of those that are live. */
import { isCount, isJsonObject, type JsonObject, toWellFormed } from '@kim/manifest'

/** The persona and number in a message's `<persona>/<id>`. A persona may hold a slash, an id cannot. */
export function parseMessageId(
  itemId: string,
): { readonly persona: string; readonly id: number } | undefined {
  const at = itemId.lastIndexOf('/')
  const id = Number(itemId.slice(at + 1))
  return at > 0 && isCount(id) ? { persona: itemId.slice(0, at), id } : undefined
}

/**
 * The id of a message's entity. It is joined, because a concatenated string keeps both its halves, and so needs twice the
 * memory.
 */
export function messageItemId(persona: string, id: number): string {
  return [persona, id].join('/')
}

/** The body of a message is not in the journal, or not whole: kept out, clipped, or redacted. It is never compared. */
export const NO_BODY = -1

/** The body of a message that was in the journal before it was opened, and was not read since. */
export const UNSEEN_BODY = -2

/**
 * Tells two bodies apart in thirty bits, so that a message costs one small number of memory. A changed body that
 * happens to have the same number goes unnoticed: one in a thousand million.
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

/** A message counts as read when its row says so, and when it was redacted. */
export function isRead(payload: JsonObject | undefined): boolean {
  return payload?.['read'] === true || payload?.['redacted'] === true
}

/** The number of the body in the payload of a message. */
export function bodyMark(payload: JsonObject | undefined): number {
  if (!isJsonObject(payload) || payload['clipped'] === true) return NO_BODY
  const content = payload['content']
  return typeof content === 'string' ? bodyHash(content) : NO_BODY
}

/** What is kept in memory of a live message. */
interface MessageMark {
  readonly isRead: boolean
  /** The number of its body, `NO_BODY` or `UNSEEN_BODY`. */
  readonly body: number
  /** The record that brought it. */
  readonly seq: number
}

/** The live messages of one persona by id: which are unread, and a number for each body. No bodies. */
export class MessageIndex {
  readonly #bodies: Map<number, number> = new Map()
  /** Each unread message, and the seq of the record that brought it. */
  readonly #unread: Map<number, number> = new Map()
  #highest = 0

  /** How many messages are live. */
  get size(): number {
    return this.#bodies.size
  }

  /** The highest id that was ever live; 0 if there is none. */
  get highest(): number {
    return this.#highest
  }

  /** The lowest live id, if there is one. */
  get lowest(): number | undefined {
    return this.rangeUpTo(Number.POSITIVE_INFINITY)?.range[0]
  }

  /** How many messages are unread. */
  get unread(): number {
    return this.#unread.size
  }

  /** The lowest unread id, if one is unread. */
  get lowestUnread(): number | undefined {
    let lowest: number | undefined
    for (const id of this.#unread.keys()) if (lowest === undefined || id < lowest) lowest = id
    return lowest
  }

  has(id: number): boolean {
    return this.#bodies.has(id)
  }

  isUnread(id: number): boolean {
    return this.#unread.has(id)
  }

  bodyOf(id: number): number {
    return this.#bodies.get(id) ?? UNSEEN_BODY
  }

  /** A message as its newest record has it. A message that was read never becomes unread again. */
  put(id: number, { isRead, body, seq }: MessageMark): void {
    const isNew = !this.#bodies.has(id)
    this.#bodies.set(id, body)
    if (id > this.#highest) this.#highest = id
    if (isRead) this.#unread.delete(id)
    else if (isNew) this.#unread.set(id, seq)
  }

  /** The body of a message that was in the journal before it was opened. */
  setBody(id: number, body: number): void {
    if (this.#bodies.has(id)) this.#bodies.set(id, body)
  }

  /** A message that is not live any more. */
  drop(id: number): void {
    this.#bodies.delete(id)
    this.#unread.delete(id)
  }

  /** The unread messages that records up to a seq brought, ascending. */
  unreadUpTo(headSeq: number): number[] {
    const ids: number[] = []
    for (const [id, seq] of this.#unread) if (seq <= headSeq) ids.push(id)
    return ids.sort((a, b) => a - b)
  }

  /** How many messages are live above one id, up to another. */
  countWithin(above: number, upTo: number): number {
    let count = 0
    for (const id of this.#bodies.keys()) if (id > above && id <= upTo) count++
    return count
  }

  /** The lowest and the highest id up to a bound, and how many there are. */
  rangeUpTo(upTo: number): { readonly count: number; readonly range: readonly [number, number] } | undefined {
    let low = Number.POSITIVE_INFINITY
    let high = 0
    let count = 0
    for (const id of this.#bodies.keys()) {
      if (id > upTo) continue
      count++
      if (id < low) low = id
      if (id > high) high = id
    }
    return count === 0 ? undefined : { count, range: [low, high] }
  }
}

import { UNSEEN_BODY } from './body-hash.js'

/** What is kept in memory of one message that stands in the journal. */
export interface MessageMark {
  readonly isRead: boolean
  /** The number of its body, `NO_BODY` or `UNSEEN_BODY`. */
  readonly body: number
  /** Monotonic time at which it was durable; an earlier life's is always before. */
  readonly sinceMs: number
}

/** The messages of one persona by id: which stand, which are unread, and a number for each body. No bodies. */
export class MessageIndex {
  readonly #bodies: Map<number, number> = new Map()
  /** Since when an unread message stands. */
  readonly #unread: Map<number, number> = new Map()
  #highest = 0

  /** How many messages are known. */
  get size(): number {
    return this.#bodies.size
  }

  /** The highest id that ever stood; 0 if there is none. */
  get highest(): number {
    return this.#highest
  }

  /** The lowest id that stands; undefined if none does. */
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

  /** A message as it now stands. Nothing that was read becomes unread again. */
  put(id: number, { isRead, body, sinceMs }: MessageMark): void {
    const isNew = !this.#bodies.has(id)
    this.#bodies.set(id, body)
    if (id > this.#highest) this.#highest = id
    if (isRead) this.#unread.delete(id)
    else if (isNew) this.#unread.set(id, sinceMs)
  }

  /** What a look at an earlier life's message told. */
  setBody(id: number, body: number): void {
    if (this.#bodies.has(id)) this.#bodies.set(id, body)
  }

  /** A message that retention took out of the state. */
  drop(id: number): void {
    this.#bodies.delete(id)
    this.#unread.delete(id)
  }

  *ids(): Generator<number> {
    yield* this.#bodies.keys()
  }

  /** The unread messages that stood before a moment, ascending. */
  unreadBefore(ms: number): number[] {
    const ids: number[] = []
    for (const [id, sinceMs] of this.#unread) if (sinceMs < ms) ids.push(id)
    return ids.sort((a, b) => a - b)
  }

  /** How many messages stand above one id, up to another. */
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

import type { Watermark } from '@kim/manifest'
import type { MonitorEvent } from '@kim/observer-sdk'
import { retryDelayMs } from '../journal/journal.js'

/** An event on its way to a lane. */
export interface Parcel {
  readonly event: MonitorEvent
  readonly place: Watermark
}

/** A lane in whose way something stands. */
export interface Block {
  /** The event that was refused: it is what the lane is tried with. */
  readonly parcel: Parcel
  readonly tries: number
  readonly retryAtMs: number
  readonly sinceMs: number
  /** What was said the last time. */
  readonly why: string
}

/**
 * How far each lane of a sink has come. Most stand where the sink stands; those in whose way something is, or was,
 * have a place of their own further back.
 */
export class Lanes {
  #passed: Watermark
  readonly #held: Map<string, Watermark>
  readonly #blocks: Map<string, Block> = new Map()

  constructor(passed: Watermark, held: Iterable<readonly [string, Watermark, ...unknown[]]> = []) {
    this.#passed = passed
    this.#held = new Map([...held].map(([lane, place]) => [lane, place]))
  }

  /** Every lane without a place of its own has dealt with everything up to here. */
  get passed(): Watermark {
    return this.#passed
  }

  get held(): readonly (readonly [lane: string, place: Watermark])[] {
    return [...this.#held]
  }

  get areBlocked(): boolean {
    return this.#blocks.size > 0
  }

  /** Where reading has to begin, so that no lane that can be delivered to misses anything. */
  get start(): Watermark {
    let start = this.#passed
    for (const [lane, place] of this.#held)
      if (!this.#blocks.has(lane) && place.seq < start.seq) start = place
    return start
  }

  /** When the next lane is due for another try. */
  get retryAtMs(): number | undefined {
    const times = [...this.#blocks.values()].map(({ retryAtMs }) => retryAtMs)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /** True for what a lane is still to be given now. */
  wants(lane: string, seq: number): boolean {
    return !this.#blocks.has(lane) && seq > (this.#held.get(lane) ?? this.#passed).seq
  }

  /** What stands in a lane's way; undefined for one that only has to catch up. */
  blockOf(lane: string): Block | undefined {
    return this.#blocks.get(lane)
  }

  isBlocked(lane: string): boolean {
    return this.#blocks.has(lane)
  }

  /** Lanes whose time for another try has come. */
  due(nowMs: number): readonly (readonly [lane: string, block: Block])[] {
    return [...this.#blocks].filter(([, { retryAtMs }]) => retryAtMs <= nowMs)
  }

  /** A lane took everything up to a place. */
  took(lane: string, place: Watermark): void {
    const isOwn = this.#held.has(lane) || place.seq > this.#passed.seq
    if (isOwn) this.#held.set(lane, place)
  }

  /** A lane refused an event; says whether that is news. */
  refused(lane: string, parcel: Parcel, nowMs: number, why: string): boolean {
    const before = this.#blocks.get(lane)
    const tries = (before?.tries ?? 0) + 1
    const sinceMs = before?.sinceMs ?? nowMs
    this.#blocks.set(lane, { parcel, tries, retryAtMs: nowMs + retryDelayMs(tries), sinceMs, why })
    if (!this.#held.has(lane)) this.#held.set(lane, this.#passed)
    return before === undefined
  }

  /** What stood in a lane's way is gone: it took the event that it had refused. */
  freed(lane: string): void {
    const block = this.#blocks.get(lane)
    if (block === undefined) return
    this.#blocks.delete(lane)
    this.#held.set(lane, block.parcel.place)
  }

  /** Everything up to a place was given to every lane that is not blocked; true if that is further than before. */
  pass(place: Watermark): boolean {
    if (place.seq < this.#passed.seq) return false
    const isFurther = place.seq > this.#passed.seq
    this.#passed = place
    for (const lane of this.#held.keys()) if (!this.#blocks.has(lane)) this.#held.delete(lane)
    return isFurther
  }

  /** Numbers of before mean nothing any more: everything after this place is new to every lane. */
  rewind(place: Watermark): void {
    this.#passed = place
    this.#held.clear()
    this.#blocks.clear()
  }
}

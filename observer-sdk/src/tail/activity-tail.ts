import { Buffer } from 'node:buffer'
import { limits, type ReadRecord, recordOf } from '@kim/manifest'

/** A record of the activity, or the bytes of its line. */
type Entry = ReadRecord | Buffer

/** Stands for a place whose entry is no longer in the window, or never was. */
const SETTLED = -1

/**
 * The newest activity, gathered from segments that come newest first, each front to back. Of a segment only the
 * last lines count, and which those are is known at its end: so places are kept in a ring, and nothing is copied
 * before its window goes.
 */
export class ActivityTail {
  readonly #max: number
  /** The present segment's entries; place `i % max` holds the one with number `i`. */
  readonly #from: Int32Array
  readonly #to: Int32Array
  readonly #entries: (Entry | undefined)[] = []
  #count = 0
  #newer: Entry[] = []

  constructor(max: number = limits.activityRecordsMax) {
    this.#max = max
    this.#from = new Int32Array(max)
    this.#to = new Int32Array(max)
  }

  /** True while lines of the present segment can still be among the newest. */
  get wants(): boolean {
    return this.#newer.length < this.#max
  }

  /** A record of the present segment. */
  record(record: ReadRecord): void {
    const at = this.#count++ % this.#max
    this.#from[at] = SETTLED
    this.#entries[at] = record
  }

  /** An unread line of the present segment, by its place in the window. */
  line(from: number, to: number): void {
    const at = this.#count++ % this.#max
    this.#from[at] = from
    this.#to[at] = to
  }

  /** The window's memory is about to be used again: what is still wanted of it is copied. */
  settle(window: Buffer): void {
    for (let i = this.#oldest(); i < this.#count; i++) {
      const at = i % this.#max
      const from = this.#from[at] as number
      if (from === SETTLED) continue
      this.#entries[at] = Buffer.from(window.subarray(from, this.#to[at]))
      this.#from[at] = SETTLED
    }
  }

  /** Everything of the present segment is void. */
  restart(): void {
    this.#count = 0
  }

  /** The present segment is done; the next one stands before it. */
  endSegment(): void {
    const older: Entry[] = []
    for (let i = this.#oldest(); i < this.#count; i++) older.push(this.#entries[i % this.#max] as Entry)
    this.#newer = [...older, ...this.#newer]
    this.#count = 0
  }

  /** The records, oldest first, unchangeable; a line that turns out to be none is left out. */
  records(): ReadRecord[] {
    return this.#newer.flatMap(entry => {
      if (!Buffer.isBuffer(entry)) return [entry]
      const record = recordOf(entry)
      return record === undefined ? [] : [record]
    })
  }

  #oldest(): number {
    return Math.max(0, this.#count - (this.#max - this.#newer.length))
  }
}

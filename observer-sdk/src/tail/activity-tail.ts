import { Buffer } from 'node:buffer'
import { limits, type ReadRecord, recordOf } from '@kim/manifest'

/** A record of the activity, or the bytes of its line. */
type Entry = ReadRecord | Buffer

/** Stands for an entry that is no longer in the window, or never was. */
const SETTLED = -1

/**
 * The newest activity of a cold start. Most lines leave the ring before their window ends, so their places are kept, and
 * nothing is copied before the window's memory is used again.
 */
export class ActivityTail {
  readonly #max: number
  /** Entry number `i` is at `i % max`. */
  readonly #from: Int32Array
  readonly #to: Int32Array
  readonly #entries: (Entry | undefined)[] = []
  #count = 0

  constructor(max: number = limits.activityRecordsMax) {
    this.#max = max
    this.#from = new Int32Array(max)
    this.#to = new Int32Array(max)
  }

  record(record: ReadRecord): void {
    const at = this.#count++ % this.#max
    this.#from[at] = SETTLED
    this.#entries[at] = record
  }

  /** An unparsed line, by its place in the window. */
  line(from: number, to: number): void {
    const at = this.#count++ % this.#max
    this.#from[at] = from
    this.#to[at] = to
  }

  /** The window's memory is about to be used again: what is still wanted of it is copied. */
  settle(window: Buffer): void {
    for (let i = Math.max(0, this.#count - this.#max); i < this.#count; i++) {
      const at = i % this.#max
      const from = this.#from[at] as number
      if (from === SETTLED) continue
      this.#entries[at] = Buffer.from(window.subarray(from, this.#to[at]))
      this.#from[at] = SETTLED
    }
  }

  /** The records, oldest first, unchangeable; a line that turns out to be none is left out. */
  records(): ReadRecord[] {
    const records: ReadRecord[] = []
    for (let i = Math.max(0, this.#count - this.#max); i < this.#count; i++) {
      const entry = this.#entries[i % this.#max] as Entry
      const record = Buffer.isBuffer(entry) ? recordOf(entry) : entry
      if (record !== undefined) records.push(record)
    }
    return records
  }
}

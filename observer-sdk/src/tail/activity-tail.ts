import { Buffer } from 'node:buffer'
import { decodeLine, limits, type ReadRecord } from '@kim/manifest'

/** A line that belongs in the activity: decoded already, or bytes. */
type Entry = { readonly record: ReadRecord } | { bytes: Buffer; readonly inWindow: boolean }

/** The newest activity, gathered from segments that come newest first, each front to back. */
export class ActivityTail {
  readonly #max: number
  #older: Entry[] = []
  #newer: Entry[] = []

  constructor(max: number = limits.activityRecordsMax) {
    this.#max = max
  }

  /** True while lines of the present segment can still be among the newest. */
  get wants(): boolean {
    return this.#newer.length < this.#max
  }

  /** A record of the present segment. */
  record(record: ReadRecord): void {
    this.#push({ record })
  }

  /** An unread line of the present segment, as a view of the window it stands in. */
  line(bytes: Buffer): void {
    this.#push({ bytes, inWindow: true })
  }

  /** The window's memory is about to be used again. */
  settle(): void {
    this.#older = this.#older.map(entry =>
      'bytes' in entry && entry.inWindow ? { bytes: Buffer.from(entry.bytes), inWindow: false } : entry,
    )
  }

  /** Everything of the present segment is void. */
  restart(): void {
    this.#older = []
  }

  /** The present segment is done; the next one stands before it. */
  endSegment(): void {
    this.settle()
    this.#trim()
    this.#newer = [...this.#older, ...this.#newer]
    this.#older = []
  }

  /** The records, oldest first; a line that turns out to be none is left out. */
  *records(): Generator<ReadRecord> {
    for (const entry of this.#newer) {
      if ('record' in entry) yield entry.record
      else {
        const decoded = decodeLine(entry.bytes)
        if (decoded.kind === 'record') yield decoded.record
      }
    }
  }

  #push(entry: Entry): void {
    this.#older.push(entry)
    if (this.#older.length > this.#max * 2) this.#trim()
  }

  #trim(): void {
    const room = this.#max - this.#newer.length
    this.#older = room > 0 ? this.#older.slice(-room) : []
  }
}

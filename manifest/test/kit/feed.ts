import { Buffer } from 'node:buffer'
import { type SegmentListener, SegmentReader } from '@kim/manifest'

/** Feeds the lines of one segment after the other to a listener. */
export class Feed {
  readonly #listener: SegmentListener
  #reader: SegmentReader

  constructor(listener: SegmentListener) {
    this.#listener = listener
    this.#reader = new SegmentReader(listener)
  }

  /** The lines that follow are those of another segment. */
  beginSegment(): void {
    this.#reader.finish()
    this.#reader = new SegmentReader(this.#listener)
  }

  /** One line, without its `\n`. */
  line(bytes: Uint8Array): void {
    this.#reader.push(Buffer.concat([bytes, Buffer.from('\n')]))
  }

  /** How many records wait for the rest of their transaction. */
  get pending(): number {
    return this.#reader.open.length
  }
}

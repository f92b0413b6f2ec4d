import type { ConsumerCursor } from '@kim/manifest'
import type { RecordLine } from '../record-line.js'

/**
 * How far reading came, before filtering: the highest seq passed and its writer. What was flushed is kept apart from
 * what was read, because only the former may be committed.
 */
export class ReadCursor {
  #seq: number
  #writer: string | null
  #flushedSeq: number
  #flushedWriter: string | null
  readonly #checkpointSeq: number

  constructor(seq: number, writer: string | null, checkpointSeq: number) {
    this.#seq = seq
    this.#writer = writer
    this.#flushedSeq = seq
    this.#flushedWriter = writer
    this.#checkpointSeq = checkpointSeq
  }

  /** The highest seq passed. */
  get seq(): number {
    return this.#seq
  }

  /** A record was passed. */
  pass({ record }: RecordLine): void {
    if (record.seq >= this.#seq) {
      this.#seq = record.seq
      this.#writer = record.writer ?? null
    }
  }

  /** What comes next stands above this seq, whatever was passed before: less was printed, or the journal is another. */
  stand(seq: number, writer: string | null = null): void {
    this.#seq = seq
    this.#writer = writer
  }

  /** A batch was passed whole, also what of it had no effect. */
  reach({ seq, writer }: { readonly seq: number; readonly writer: string | null }): void {
    if (seq < this.#seq) return
    this.#seq = seq
    this.#writer = writer
  }

  /** Everything passed so far is with its reader. */
  flushed(): void {
    this.#flushedSeq = this.#seq
    this.#flushedWriter = this.#writer
  }

  /** What may be committed. */
  place(projectId: string): ConsumerCursor {
    return {
      projectId,
      seq: this.#flushedSeq,
      writer: this.#flushedWriter,
      checkpointSeq: this.#checkpointSeq,
    }
  }
}

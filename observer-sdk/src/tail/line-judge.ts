/** What the lines of one segment come to, in file order: records that apply, and everything that does not. */
import { Buffer } from 'node:buffer'
import type { AnomalyKind, Decoded, ReadRecord } from '@kim/manifest'
import { TxTracker } from '@kim/manifest'

/** A record on a terminated line. */
export interface JudgedLine {
  readonly record: ReadRecord
  readonly defects: readonly AnomalyKind[]
  /** Offset of the line in its segment. */
  readonly offset: number
  /** The line's bytes; a view that is valid until the next chunk is read. */
  readonly bytes: Uint8Array
}

/** What one more line decided. */
export interface Verdict {
  /** These have their effect now, in this order. */
  readonly released: readonly JudgedLine[]
  /** These never will: their transaction is not complete. */
  readonly dropped: readonly JudgedLine[]
  /** How many of those released repeated an earlier line of the segment, and were taken out for it. */
  readonly repeated: number
}

const NOTHING: readonly JudgedLine[] = []

/**
 * Applies the rules that look at more than one line of a segment: transactions, and lines that repeat an
 * earlier one byte for byte. The latter cannot be where seqs ascend, so earlier lines are only called to
 * mind when one does not.
 */
export class LineJudge {
  readonly #transactions = new TxTracker<JudgedLine>()
  readonly #recall: (until: number) => Iterable<JudgedLine>
  #released: Map<number, Set<string>> | undefined
  #peak: number

  /** `peak` is the highest seq of the lines before; `recall` gives those that applied and stand before an offset. */
  constructor(peak: number, recall: (until: number) => Iterable<JudgedLine>) {
    this.#peak = peak
    this.#recall = recall
  }

  /** The highest seq so far. */
  get peak(): number {
    return this.#peak
  }

  /** What waits for the rest of its transaction. */
  get pending(): readonly JudgedLine[] {
    return this.#transactions.pending
  }

  /** True while a transaction has begun and may still become complete. */
  get isOpen(): boolean {
    return this.#transactions.isOpen
  }

  /** Keeps in mind these records of the lines so far, and from now on every one. */
  remember(lines: Iterable<JudgedLine>): void {
    this.#released = new Map()
    for (const line of lines) add(this.#released, line)
  }

  /**
   * A record that is known to carry no `tx`: true if it has its effect, whatever stands before it. Otherwise nothing was
   * decided: it may end a transaction, or repeat an earlier line.
   */
  passes(seq: number): boolean {
    if (seq <= this.#peak || this.#released !== undefined || this.#transactions.isOpen) return false
    this.#peak = seq
    return true
  }

  /** One line that is not blank. */
  judge(decoded: Exclude<Decoded, { kind: 'blank' }>, offset: number, bytes: Uint8Array): Verdict {
    if (decoded.kind !== 'record') return this.interrupt()
    const { record, defects } = decoded
    if (record.tx === undefined && !this.#transactions.isOpen) {
      return this.#sift([{ record, defects, offset, bytes }], NOTHING)
    }
    // A held line outlives the chunk it came in.
    const line = { record, defects, offset, bytes: Uint8Array.from(bytes) }
    const { released, dropped } = this.#transactions.record(record, line)
    return this.#sift(released, dropped)
  }

  /** A line that is no record, or the end of a segment that is not the newest. */
  interrupt(): Verdict {
    const dropped = this.#transactions.interrupt()
    this.#rise(dropped)
    return { released: NOTHING, dropped, repeated: 0 }
  }

  #sift(released: readonly JudgedLine[], dropped: readonly JudgedLine[]): Verdict {
    this.#rise(dropped)
    const first = released[0]
    if (first !== undefined && this.#released === undefined && !ascend(released, this.#peak)) {
      this.remember(this.#recall(first.offset))
    }
    this.#rise(released)
    const memory = this.#released
    if (memory === undefined) return { released, dropped, repeated: 0 }
    const kept = released.filter(line => add(memory, line))
    return { released: kept, dropped, repeated: released.length - kept.length }
  }

  #rise(lines: readonly JudgedLine[]): void {
    for (const { record } of lines) this.#peak = Math.max(this.#peak, record.seq)
  }
}

function ascend(lines: readonly JudgedLine[], after: number): boolean {
  let last = after
  for (const { record } of lines) {
    if (record.seq <= last) return false
    last = record.seq
  }
  return true
}

/** False if the very same line is there already. */
function add(released: Map<number, Set<string>>, { record, bytes }: JudgedLine): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
  const lines = released.get(record.seq)
  if (lines === undefined) released.set(record.seq, new Set([text]))
  else if (lines.has(text)) return false
  else lines.add(text)
  return true
}

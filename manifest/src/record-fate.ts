/** What becomes of a valid record: it waits for its transaction, repeats a line, or repeats the seq of another record. */
import { crc32 } from 'node:zlib'
import type { Effect } from './classify.js'
import type { FoldedRecord } from './fold.js'
import type { ReadRecord, Tx } from './record.js'

/** What one more line decided about the lines of a transaction, in file order. */
export interface TxVerdict<T> {
  /** These will never have an effect. */
  readonly dropped: readonly T[]
  /** These have their effect now. */
  readonly released: readonly T[]
}

/**
 * Holds the records of a transaction until all of them are there, on consecutive non-blank lines of one file.
 * Feed it every non-blank line of one file in order; use a new file's first line only after {@link interrupt}.
 */
export class TxTracker<T> {
  #held: T[] = []
  #tx: Tx | undefined
  #writer: string | undefined

  /** What waits for the rest of its transaction. */
  get pending(): readonly T[] {
    return this.#held
  }

  /** A line with a valid record. */
  record(record: Pick<ReadRecord, 'tx' | 'writer'>, item: T): TxVerdict<T> {
    const { tx, writer } = record
    if (tx === undefined) return { dropped: this.interrupt(), released: [item] }
    if (tx === 'malformed') return { dropped: [...this.interrupt(), item], released: [] }
    let dropped: readonly T[] = []
    if (!this.#continues(tx, writer)) {
      dropped = this.interrupt()
      if (tx.i !== 1) return { dropped: [...dropped, item], released: [] }
      this.#tx = tx
      this.#writer = writer
    }
    this.#held.push(item)
    return { dropped, released: tx.i === tx.n ? this.interrupt() : [] }
  }

  /** A line that is no record, or the end of a file that is not the newest: what waits is dropped. */
  interrupt(): readonly T[] {
    const taken = this.#held
    this.#held = []
    this.#tx = undefined
    return taken
  }

  #continues(tx: Tx, writer: string | undefined): boolean {
    const open = this.#tx
    return (
      open !== undefined &&
      this.#writer === writer &&
      open.id === tx.id &&
      open.n === tx.n &&
      tx.i === this.#held.length + 1
    )
  }
}

/** Checksum and length of a line in one number; lines are compared by it only under one seq in one segment. */
export function lineMark(bytes: Uint8Array): number {
  return crc32(bytes) + (bytes.length % 2 ** 21) * 2 ** 32
}

/**
 * Recognises a record whose line repeats an earlier line of its segment byte for byte. It keeps two numbers for each
 * record; records whose numbers do not ascend are rare, and cost more.
 */
export class RepeatedLines {
  readonly #seqs: number[] = []
  readonly #marks: number[] = []
  readonly #strays = new Map<number, Set<number>>()

  /** Takes the next record that applies; true if the segment already holds its line. */
  isRepeated(seq: number, mark: number): boolean {
    if (seq > (this.#seqs.at(-1) ?? 0)) {
      this.#seqs.push(seq)
      this.#marks.push(mark)
      return false
    }
    if (this.#marks[indexOfSeq(this.#seqs, seq)] === mark) return true
    const strays = this.#strays.get(seq)
    if (strays === undefined) this.#strays.set(seq, new Set([mark]))
    else if (strays.has(mark)) return true
    else strays.add(mark)
    return false
  }
}

/** Where a number is among ascending ones; -1 if it is not among them. */
function indexOfSeq(seqs: readonly number[], seq: number): number {
  let low = 0
  let high = seqs.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((seqs[middle] as number) < seq) low = middle + 1
    else high = middle
  }
  return seqs[low] === seq ? low : -1
}

/** What a record repeats of an earlier one with its seq. */
export type Duplicate = 'duplicate_same_writer' | 'duplicate_other_writer' | 'duplicate_overwrite'

/** No hash of an entity's revision: the record changes no entity, or states no revision. */
const noRevision = -1

/** A 53-bit hash of entity and revision. */
function revisionMark({ item_type, item_id, entity_rev }: FoldedRecord, effect: Effect): number {
  if (item_id === undefined || entity_rev === undefined) return noRevision
  if (effect !== 'upsert' && effect !== 'remove') return noRevision
  let high = Math.imul(item_type.length, 0x9e3779b1) ^ (entity_rev / 2 ** 32)
  let low = entity_rev | 0
  for (const text of [item_type, item_id]) {
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      high = Math.imul(high ^ unit, 0x85ebca6b) ^ (low >>> 15)
      low = Math.imul(low + unit, 0xc2b2ae35) ^ (high >>> 13)
    }
  }
  return (high >>> 11) * 2 ** 32 + (low >>> 0)
}

/**
 * Finds records that repeat the seq of an earlier one.
 *
 * Nothing can repeat in a journal whose numbers ascend, so the records that ascend are kept as columns of plain
 * numbers, about 24 bytes a record, found by binary search; only the others, the strays, are kept in sets.
 */
export class DuplicateFinder {
  readonly #seqs: number[] = []
  readonly #writers: number[] = []
  readonly #revisions: number[] = []
  readonly #writerNumbers = new Map<string | undefined, number>()
  readonly #straySeqs = new Set<number>()
  readonly #strayWriters = new Set<string>()
  readonly #strayRevisions = new Set<string>()

  /** Takes the next record that applies, in file order; says what it repeats. */
  see(record: FoldedRecord, effect: Effect): Duplicate | undefined {
    const { seq } = record
    const writer = this.#writerNumber(record.writer)
    const revision = revisionMark(record, effect)
    if (seq > (this.#seqs.at(-1) ?? 0)) {
      this.#seqs.push(seq)
      this.#writers.push(writer)
      this.#revisions.push(revision)
      return undefined
    }
    const duplicate = this.#judge(seq, writer, revision)
    this.#straySeqs.add(seq)
    this.#strayWriters.add(`${seq} ${writer}`)
    if (revision !== noRevision) this.#strayRevisions.add(`${seq} ${revision}`)
    return duplicate
  }

  #judge(seq: number, writer: number, revision: number): Duplicate | undefined {
    const at = indexOfSeq(this.#seqs, seq)
    if (at < 0 && !this.#straySeqs.has(seq)) return undefined
    if (this.#writers[at] === writer || this.#strayWriters.has(`${seq} ${writer}`))
      return 'duplicate_same_writer'
    if (revision === noRevision) return 'duplicate_other_writer'
    const overwrites = this.#revisions[at] === revision || this.#strayRevisions.has(`${seq} ${revision}`)
    return overwrites ? 'duplicate_overwrite' : 'duplicate_other_writer'
  }

  #writerNumber(writer: string | undefined): number {
    const known = this.#writerNumbers.get(writer)
    if (known !== undefined) return known
    const number = this.#writerNumbers.size
    this.#writerNumbers.set(writer, number)
    return number
  }
}

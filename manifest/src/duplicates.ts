import type { Effect } from './classify.js'
import type { FoldedRecord } from './fold.js'

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
    const at = this.#find(seq)
    const isAscending = at !== undefined
    if (!isAscending && !this.#straySeqs.has(seq)) return undefined
    if ((isAscending && this.#writers[at] === writer) || this.#strayWriters.has(`${seq} ${writer}`)) {
      return 'duplicate_same_writer'
    }
    if (revision === noRevision) return 'duplicate_other_writer'
    const overwrites =
      (isAscending && this.#revisions[at] === revision) || this.#strayRevisions.has(`${seq} ${revision}`)
    return overwrites ? 'duplicate_overwrite' : 'duplicate_other_writer'
  }

  #find(seq: number): number | undefined {
    let low = 0
    let high = this.#seqs.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#seqs[middle] ?? 0) < seq) low = middle + 1
      else high = middle
    }
    return this.#seqs[low] === seq ? low : undefined
  }

  #writerNumber(writer: string | undefined): number {
    const known = this.#writerNumbers.get(writer)
    if (known !== undefined) return known
    const number = this.#writerNumbers.size
    this.#writerNumbers.set(writer, number)
    return number
  }
}

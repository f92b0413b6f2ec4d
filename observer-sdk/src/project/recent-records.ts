import type { FoldedRecord } from '@kim/manifest'

/** Records kept in mind to tell a repeat from a straggler. */
const REMEMBERED_MAX = 10_000

/** The newest records, in columns of a ring: one object a record would be made for every observer. */
export class RecentRecords {
  readonly #seqs: number[] = []
  readonly #writers: (string | undefined)[] = []
  readonly #types: string[] = []
  readonly #ids: (string | undefined)[] = []
  readonly #revisions: (number | undefined)[] = []
  #at = 0
  #highest = 0

  /** Takes the next record; says which earlier one with its seq it repeats, if that is among the newest. */
  see(record: FoldedRecord): Repeat | undefined {
    const repeat = record.seq <= this.#highest ? this.#judge(record) : undefined
    const at = this.#at
    this.#seqs[at] = record.seq
    this.#writers[at] = record.writer
    this.#types[at] = record.item_type
    this.#ids[at] = record.item_id
    this.#revisions[at] = record.entity_rev
    this.#at = (at + 1) % REMEMBERED_MAX
    this.#highest = Math.max(this.#highest, record.seq)
    return repeat
  }

  #judge({ seq, writer, item_type, item_id, entity_rev }: FoldedRecord): Repeat | undefined {
    let repeat: Repeat | undefined
    for (let at = this.#seqs.indexOf(seq); at !== -1; at = this.#seqs.indexOf(seq, at + 1)) {
      if (this.#writers[at] === writer) return 'duplicate_same_writer'
      const isSame =
        item_id !== undefined &&
        entity_rev !== undefined &&
        this.#revisions[at] === entity_rev &&
        this.#ids[at] === item_id &&
        this.#types[at] === item_type
      if (isSame) repeat = 'duplicate_overwrite'
      else repeat ??= 'duplicate_other_writer'
    }
    return repeat
  }
}

/** What a record repeats. */
type Repeat = 'duplicate_same_writer' | 'duplicate_other_writer' | 'duplicate_overwrite'

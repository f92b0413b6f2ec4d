import { type AnomalyKind, Continuity, isSeq, type ReadRecord } from '@kim/manifest'

/** Records kept in mind to tell a repeat from a straggler. */
const REMEMBERED_MAX = 10_000

/** Judges the order of seqs while following. What stood before the open is known only by its highest seq. */
export class SeqWatch {
  readonly #continuity: Continuity
  readonly #recent = new Recent()

  constructor(highest: number) {
    this.#continuity = new Continuity(highest)
  }

  /** Holes that no repair explains, up to now. */
  get holes(): number {
    return this.#continuity.openHoles().length
  }

  /** A line that is no record here but has a seq. */
  pass(seq: number): void {
    this.#continuity.see(seq)
  }

  /** A record that applied; says what its seq is, if it is odd. */
  see(record: ReadRecord): AnomalyKind | undefined {
    const { seq, action } = record
    const isBehind = seq <= this.#continuity.highest
    const odd = isBehind ? this.#recent.judge(record) : undefined
    this.#recent.add(record)
    this.#continuity.see(seq)
    if (action === 'seq_repair') this.#repair(record)
    return odd
  }

  #repair({ payload }: ReadRecord): void {
    if (!isSeq(payload?.['from']) || !isSeq(payload['to'])) return
    this.#continuity.repair({ from: payload['from'], to: payload['to'] })
  }
}

/** The newest records, in columns of a ring: one a record would be made for every observer. */
class Recent {
  readonly #seqs: number[] = []
  readonly #writers: (string | undefined)[] = []
  readonly #types: string[] = []
  readonly #ids: (string | undefined)[] = []
  readonly #revisions: (number | undefined)[] = []
  #at = 0

  add({ seq, writer, item_type, item_id, entity_rev }: ReadRecord): void {
    const at = this.#at
    this.#seqs[at] = seq
    this.#writers[at] = writer
    this.#types[at] = item_type
    this.#ids[at] = item_id
    this.#revisions[at] = entity_rev
    this.#at = (at + 1) % REMEMBERED_MAX
  }

  /** What a record is whose seq is not above all that came before. */
  judge({ seq, writer, item_type, item_id, entity_rev }: ReadRecord): AnomalyKind {
    let odd: AnomalyKind = 'seq_regressed'
    for (let at = this.#seqs.indexOf(seq); at !== -1; at = this.#seqs.indexOf(seq, at + 1)) {
      if (this.#writers[at] === writer) return 'duplicate_same_writer'
      const isSame =
        item_id !== undefined &&
        entity_rev !== undefined &&
        this.#revisions[at] === entity_rev &&
        this.#ids[at] === item_id &&
        this.#types[at] === item_type
      if (isSame) odd = 'duplicate_overwrite'
      else if (odd === 'seq_regressed') odd = 'duplicate_other_writer'
    }
    return odd
  }
}

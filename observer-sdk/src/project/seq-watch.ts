import { type AnomalyKind, Continuity, isSeq, type ReadRecord } from '@kim/manifest'

/** Records kept in mind to tell a repeat from a straggler. */
const REMEMBERED_MAX = 10_000

interface Seen {
  readonly writer: string | undefined
  readonly image: string
}

/** Judges the order of seqs while following. What stood before the open is known only by its highest seq. */
export class SeqWatch {
  readonly #continuity: Continuity
  readonly #recent = new Map<number, Seen[]>()

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
    const { seq, action, payload } = record
    const earlier = this.#recent.get(seq)
    const isBehind = seq <= this.#continuity.highest
    this.#continuity.see(seq)
    if (action === 'seq_repair' && isSeq(payload?.['from']) && isSeq(payload['to'])) {
      this.#continuity.repair({ from: payload['from'], to: payload['to'] })
    }
    const seen = { writer: record.writer, image: imageOf(record) }
    this.#remember(seq, seen, earlier)
    if (earlier === undefined) return isBehind ? 'seq_regressed' : undefined
    if (earlier.some(({ writer }) => writer === seen.writer)) return 'duplicate_same_writer'
    const overwrites = seen.image !== '' && earlier.some(({ image }) => image === seen.image)
    return overwrites ? 'duplicate_overwrite' : 'duplicate_other_writer'
  }

  #remember(seq: number, seen: Seen, earlier: Seen[] | undefined): void {
    if (earlier !== undefined) {
      earlier.push(seen)
      return
    }
    this.#recent.set(seq, [seen])
    if (this.#recent.size <= REMEMBERED_MAX) return
    const [oldest] = this.#recent.keys()
    if (oldest !== undefined) this.#recent.delete(oldest)
  }
}

function imageOf({ item_type, item_id, entity_rev }: ReadRecord): string {
  return item_id === undefined || entity_rev === undefined
    ? ''
    : JSON.stringify([item_type, item_id, entity_rev])
}

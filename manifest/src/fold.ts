import { effectOf, isRegistryGenesis } from './classify.js'
import type { Decoded } from './codec.js'
import { decodeLine } from './codec.js'
import type { SeqRange } from './continuity.js'
import { Continuity } from './continuity.js'
import { DuplicateFinder } from './duplicates.js'
import type { ReadRecord } from './envelope.js'
import { isSeq } from './envelope.js'
import type { AnomalyKind, Effect } from './kinds.js'
import { anomalies } from './kinds.js'
import { limits } from './limits.js'
import type { Entity, Revision } from './projection.js'
import { Projection } from './projection.js'
import { lineMark } from './repeated-lines.js'
import { Ring } from './ring.js'
import { TxTracker } from './tx.js'

/** The highest seq among the valid records, and who wrote it. */
export interface Head {
  readonly seq: number
  readonly writer: string | null
}

/** How many of each anomaly. */
export type AnomalyCounts = Readonly<Record<AnomalyKind, number>>

/** Where a fold begins if not at the first record. */
export interface FoldStart {
  /** The number before the first that is expected. */
  readonly after?: number
  /** What a checkpoint holds. */
  readonly head?: Head
  readonly entities?: Iterable<Entity>
  readonly revisions?: Iterable<Revision>
  readonly registryAuthoritative?: boolean
}

/** What a fold tells while it runs, and what it need not keep. */
export interface FoldOptions {
  /** Called for each record that applies, in file order, once the state holds it. */
  readonly onRecord?: (record: ReadRecord, effect: Effect) => void
  /** True for types whose revision is not kept once an entity is deleted. */
  readonly forgetsRevision?: (itemType: string) => boolean
}

/** A record on its way through the fold. It may have to wait, so it keeps the mark of its bytes, not a view of them. */
interface Line {
  readonly record: ReadRecord
  readonly defects: readonly AnomalyKind[]
  readonly mark: number
}

/** The numbers that a `seq_repair` explains. */
function repairedBy({ action, payload }: ReadRecord): SeqRange | undefined {
  if (action !== 'seq_repair' || payload === undefined) return undefined
  const { from, to } = payload
  return isSeq(from) && isSeq(to) && from <= to ? { from, to } : undefined
}

/**
 * The forward reader: feed it the lines of every segment in file order and it holds the state they make.
 * At the end of a live journal it simply waits for more: a transaction that is still open has no effect yet.
 */
export class Fold {
  readonly #projection: Projection
  readonly #continuity: Continuity
  readonly #duplicates = new DuplicateFinder()
  readonly #transactions = new TxTracker<Line>()
  readonly #activity = new Ring<ReadRecord>(limits.activityRecordsMax)
  readonly #counts = Object.fromEntries(Object.keys(anomalies).map(kind => [kind, 0])) as Record<
    AnomalyKind,
    number
  >
  readonly #onRecord: FoldOptions['onRecord']
  #head: Head
  #registryAuthoritative: boolean

  constructor(start: FoldStart = {}, options: FoldOptions = {}) {
    this.#projection = new Projection(options.forgetsRevision)
    for (const entity of start.entities ?? []) this.#projection.load(entity)
    for (const revision of start.revisions ?? []) this.#projection.loadRevision(revision)
    this.#head = start.head ?? { seq: 0, writer: null }
    this.#continuity = new Continuity(start.after ?? this.#head.seq)
    this.#registryAuthoritative = start.registryAuthoritative ?? false
    this.#onRecord = options.onRecord
  }

  /** The lines that follow are those of the next segment; a transaction left open can no longer be completed. */
  beginSegment(): void {
    this.#drop(this.#transactions.interrupt())
    this.#duplicates.beginSegment()
  }

  /** One terminated line, without its `\n`. */
  line(bytes: Uint8Array, atFileStart = false): void {
    this.decoded(decodeLine(bytes, atFileStart), bytes)
  }

  /** One terminated line that has been decoded, with its bytes (a line too long to be held has none). */
  decoded(decoded: Decoded, bytes: Uint8Array): void {
    if (decoded.kind === 'blank') return
    if (decoded.kind === 'record') {
      this.#record({ record: decoded.record, defects: decoded.defects, mark: lineMark(bytes) })
      return
    }
    this.#drop(this.#transactions.interrupt())
    this.#counts[decoded.kind]++
    if (decoded.kind === 'future' && decoded.seq !== undefined) this.#continuity.see(decoded.seq)
  }

  /** A record that applies for certain, because it is our own and durable. */
  apply(record: ReadRecord): void {
    this.#apply(record, effectOf(record))
  }

  /** Counts what only the caller can see, such as a missing blob. */
  count(kind: AnomalyKind): void {
    this.#counts[kind]++
  }

  /** The state. */
  get projection(): Projection {
    return this.#projection
  }

  /** The highest seq among the valid records, and who wrote it. */
  get head(): Head {
    return this.#head
  }

  /** True once a registry genesis stands in the journal. */
  get registryAuthoritative(): boolean {
    return this.#registryAuthoritative
  }

  /** The newest activity, oldest first. */
  get activity(): ReadRecord[] {
    return this.#activity.toArray()
  }

  /** How many records wait for the rest of their transaction. */
  get pending(): number {
    return this.#transactions.pending.length
  }

  /** The runs of numbers that no line holds and no repair explains, ascending. */
  get openHoles(): SeqRange[] {
    return this.#continuity.openHoles()
  }

  /** How many of each anomaly so far. */
  get anomalies(): AnomalyCounts {
    return { ...this.#counts, seq_hole: this.#counts.seq_hole + this.openHoles.length }
  }

  #record(line: Line): void {
    if (line.record.tx === undefined && !this.#transactions.isOpen) {
      this.#release(line)
      return
    }
    const { dropped, released } = this.#transactions.record(line.record, line)
    this.#drop(dropped)
    for (const each of released) this.#release(each)
  }

  #drop(lines: readonly Line[]): void {
    for (const { record, defects } of lines) {
      this.#counts.tx_incomplete++
      for (const kind of defects) this.#counts[kind]++
      this.#pass(record)
    }
  }

  #release({ record, defects, mark }: Line): void {
    const effect = effectOf(record)
    const duplicate = this.#duplicates.see(record, effect, mark)
    if (duplicate !== undefined) this.#counts[duplicate]++
    else if (record.seq <= this.#continuity.highest) this.#counts.seq_regressed++
    if (duplicate === 'duplicate_line') return
    for (const kind of defects) this.#counts[kind]++
    this.#apply(record, effect)
  }

  #apply(record: ReadRecord, effect: Effect): void {
    this.#pass(record)
    this.#countRevisionJump(record, effect)
    this.#projection.apply(record, effect)
    const repaired = repairedBy(record)
    if (repaired !== undefined) this.#continuity.repair(repaired)
    if (effect === 'meta' && isRegistryGenesis(record)) this.#registryAuthoritative = true
    if (effect === 'activity' || record.event !== undefined) this.#activity.push(record)
    this.#onRecord?.(record, effect)
  }

  #pass({ seq, writer }: ReadRecord): void {
    this.#continuity.see(seq)
    if (seq >= this.#head.seq) this.#head = { seq, writer: writer ?? null }
  }

  #countRevisionJump({ item_type, item_id, entity_rev }: ReadRecord, effect: Effect): void {
    if (item_id === undefined || entity_rev === undefined) return
    if (effect !== 'upsert' && effect !== 'remove') return
    const known = this.#projection.revisionOf(item_type, item_id)
    if (known !== undefined && entity_rev > known + 1) this.#counts.entity_rev_jump++
  }
}

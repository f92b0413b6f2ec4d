import { isRegistryGenesis } from './classify.js'
import type { SeqRange } from './continuity.js'
import { Continuity, repairedBy } from './continuity.js'
import { DuplicateFinder } from './duplicates.js'
import type { ReadRecord } from './envelope.js'
import type { AnomalyCounts, Head } from './fold.js'
import type { AnomalyKind, Effect } from './kinds.js'
import { anomalies } from './kinds.js'
import { limits } from './limits.js'
import type { Entity, Revision } from './projection.js'
import { Projection } from './projection.js'
import { Ring } from './ring.js'
import type { SegmentLine, SegmentListener } from './segment-reader.js'

/** Where a fold begins if not at the first record. */
export interface OldFoldStart {
  /** The number before the first that is expected. */
  readonly after?: number
  /** What a checkpoint holds. */
  readonly head?: Head
  readonly entities?: Iterable<Entity>
  readonly revisions?: Iterable<Revision>
  readonly registryAuthoritative?: boolean
}

/** What a fold tells while it runs, and what it need not keep. */
export interface OldFoldOptions {
  /** Called for each record that applies, in file order, once the state holds it. */
  readonly onRecord?: (record: ReadRecord, effect: Effect) => void
  /** True for types whose revision is not kept once an entity is deleted. */
  readonly forgetsRevision?: (itemType: string) => boolean
}

/** Holds the state that records make: the listener of one segment reader after the other, in file order. */
export class OldFold implements SegmentListener {
  readonly #projection: Projection
  readonly #continuity: Continuity
  readonly #duplicates = new DuplicateFinder()
  readonly #activity = new Ring<ReadRecord>(limits.activityRecordsMax)
  readonly #counts = Object.fromEntries(Object.keys(anomalies).map(kind => [kind, 0])) as Record<
    AnomalyKind,
    number
  >
  readonly #onRecord: OldFoldOptions['onRecord']
  #head: Head
  #registryAuthoritative: boolean

  constructor(start: OldFoldStart = {}, options: OldFoldOptions = {}) {
    this.#projection = new Projection(options.forgetsRevision)
    for (const entity of start.entities ?? []) this.#projection.load(entity)
    for (const revision of start.revisions ?? []) this.#projection.loadRevision(revision)
    this.#head = start.head ?? { seq: 0, writer: null }
    this.#continuity = new Continuity(start.after ?? this.#head.seq)
    this.#registryAuthoritative = start.registryAuthoritative ?? false
    this.#onRecord = options.onRecord
  }

  released({ record, effect, defects }: SegmentLine): void {
    const duplicate = this.#duplicates.see(record, effect)
    if (duplicate !== undefined) this.#counts[duplicate]++
    else if (record.seq <= this.#continuity.highest) this.#counts.seq_regressed++
    for (const kind of defects) this.#counts[kind]++
    this.#apply(record, effect)
  }

  dropped(lines: readonly SegmentLine[]): void {
    for (const { record, defects } of lines) {
      this.#counts.tx_incomplete++
      for (const kind of defects) this.#counts[kind]++
      this.#pass(record)
    }
  }

  repeated(): void {
    this.#counts.duplicate_line++
  }

  malformed(): void {
    this.#counts.malformed++
  }

  future(seq: number | undefined): void {
    this.#counts.future++
    if (seq !== undefined) this.#continuity.see(seq)
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

  /** The runs of numbers that no line holds and no repair explains, ascending. */
  get openHoles(): SeqRange[] {
    return this.#continuity.openHoles()
  }

  /** How many of each anomaly so far. */
  get anomalies(): AnomalyCounts {
    return { ...this.#counts, seq_hole: this.#counts.seq_hole + this.openHoles.length }
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

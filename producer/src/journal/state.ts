import {
  type CheckpointHeader,
  type Effect,
  type Entity,
  type EntityTable,
  Fold,
  type FoldedRecord,
  type Head,
  isRegistryGenesis,
  type Revision,
  registryCapability,
  registryOfAllCapability,
  type SegmentLine,
  type TableEntry,
} from '@kim/manifest'
import { KeyLedger } from './keys.js'
import { isRead } from './message-index.js'
import { type EntitySource, Personas } from './persona.js'
import { RemovedRevisions } from './removed.js'
import type { StoredLineLocation, StoreFile } from './store-file.js'

/**
 * What the writer keeps of a live entity: where its newest line is. Payloads stay on the disk, so that the writer's
 * memory grows with the number of entities and not with their size.
 */
export interface LiveImage extends StoredLineLocation {
  readonly seq: number
  /** True for a message that its persona has read; retention asks. */
  readonly read: boolean
  file: StoreFile
  offset: number
  length: number
}

/** A live entity: its names and revision come from the table, the rest is its image. */
export type LiveEntity = TableEntry<LiveImage>

/** What of a record decides what it does to the state: one just written, or one that was read. */
export interface AppliedRecord extends FoldedRecord {
  readonly key?: string | undefined
  readonly ts?: string | undefined
}

/** Always another object: a checkpoint that is being built may still point to the one before. */
function imageOf(
  { item_type, payload, seq }: Pick<Entity, 'item_type' | 'payload' | 'seq'>,
  { file, offset, length }: StoredLineLocation,
): LiveImage {
  return { seq, read: item_type === 'message' && isRead(payload), file, offset, length }
}

/** What the journal says is so: the fold of its records, kept up to date by each commit. */
export class JournalState {
  readonly #fold: Fold<LiveImage>
  readonly #removed: RemovedRevisions
  /** The file of the line that is folded now. */
  #file: StoreFile = { path: '' }
  readonly keys: KeyLedger = new KeyLedger()
  readonly capabilities: Set<string> = new Set()
  #personas: Personas | undefined

  constructor() {
    this.#fold = new Fold<LiveImage>({
      of: ({ record, offset, length }) => imageOf(record, { file: this.#file, offset, length }),
    })
    this.#removed = new RemovedRevisions(this.#fold.entities)
  }

  /** The entities, to be read. */
  get entities(): EntityTable<LiveImage> {
    return this.#fold.entities
  }

  /** How many entities are live. */
  get size(): number {
    return this.entities.size
  }

  /** The highest seq of a valid record, and who wrote it. */
  get head(): Head {
    return this.#fold.head
  }

  find(itemType: string, itemId: string): LiveEntity | undefined {
    const image = this.entities.get(itemType, itemId)
    if (image === undefined) return undefined
    const entity_rev = this.entities.statedRevisionAt(this.entities.slotOf(itemType, itemId))
    return { item_type: itemType, item_id: itemId, entity_rev, image }
  }

  values(itemType?: string): Generator<LiveEntity> {
    return this.entities.entries(itemType)
  }

  /** The last known revision of an entity, live or removed. */
  revisionOf(itemType: string, itemId: string): number | undefined {
    return this.entities.revisionOf(itemType, itemId)
  }

  /** The personas, from the first call on kept up to date. `source` reads the payloads of these entities. */
  personas(source: EntitySource): Personas {
    this.#personas ??= new Personas(source, this.head.seq)
    return this.#personas
  }

  /** Takes over a record whose line was just written there. */
  apply(record: AppliedRecord, effect: Effect, place: StoredLineLocation): void {
    this.#fold.apply(record, effect, () => imageOf(record, place))
    this.#follow(record, effect)
  }

  /** A record that was read in this file and has its effect. */
  released(line: SegmentLine, file: StoreFile): void {
    this.#file = file
    this.#fold.released(line)
    this.#follow(line.record, line.effect)
  }

  /** Records that were read and have no effect: one may be the head nevertheless. */
  dropped(lines: readonly SegmentLine[]): void {
    this.#fold.dropped(lines)
  }

  /** An entity as a checkpoint states it. */
  load(entity: Entity, place: StoredLineLocation): void {
    this.#fold.load(entity.item_type, entity.item_id, imageOf(entity, place), entity.entity_rev)
  }

  /** Everything else that a checkpoint states. */
  loadHeader({ head_seq, head_writer, revisions, keys, capabilities }: CheckpointHeader): void {
    this.#fold.pass({ seq: head_seq, writer: head_writer ?? undefined })
    this.#fold.beginLive()
    for (const revision of revisions) {
      this.#fold.loadRevision(revision)
      // The checkpoint covers it, so the next one may forget it.
      this.#removed.add(revision[0], revision[1], 0)
    }
    for (const key of keys) this.keys.restore(key)
    for (const capability of capabilities) this.capabilities.add(capability)
  }

  /** What a checkpoint keeps of removed entities: a type that never comes back needs no revision. */
  removedRevisions(): Iterable<Revision> {
    return this.#removed.entries()
  }

  /**
   * Forgets what a checkpoint up to `headSeq` forgot, so that a writer that goes on and one that opens afresh
   * know the same.
   */
  forgetRemoved(headSeq: number): void {
    this.#removed.forget(headSeq)
  }

  /** What a record does besides its effect on an entity. */
  #follow(record: AppliedRecord, effect: Effect): void {
    const { item_type, item_id, seq } = record
    this.keys.record(seq, record.ts, record.key)
    if (item_id !== undefined && effect === 'remove') this.#removed.add(item_type, item_id, seq)
    if (item_id !== undefined && effect === 'upsert') this.#removed.delete(item_type, item_id)
    this.#personas?.apply(record, effect)
    if (effect !== 'meta' || !isRegistryGenesis(record)) return
    this.capabilities.add(registryCapability)
    if (record.payload?.['mode'] === 'all') this.capabilities.add(registryOfAllCapability)
  }
}

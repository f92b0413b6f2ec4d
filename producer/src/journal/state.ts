/** What the journal says is so: entities, revisions of removed ones, idempotency keys, personas. */
import {
  type CheckpointHeader,
  type Effect,
  type Entity,
  type EntityTable,
  Fold,
  type FoldedRecord,
  forgetsRevision,
  type Head,
  isKeyForgettable,
  isRegistryGenesis,
  JournalTime,
  type KeyEntry,
  type Revision,
  registryCapability,
  registryOfAllCapability,
  type SegmentLine,
  type TableEntry,
} from '@kim/manifest'
import { isRead } from './message-index.js'
import { type EntitySource, Personas } from './persona.js'

/** Where a line is. */
export interface StoredLineLocation {
  /** The file that holds it. */
  readonly path: string
  readonly offset: number
  /** Without the `\n`, and without the comma of a checkpoint's line. */
  readonly length: number
}

/**
 * What the writer keeps of a live entity: where its newest line is. Payloads stay on the disk, so that the writer's
 * memory grows with the number of entities and not with their size.
 */
export interface LiveImage extends StoredLineLocation {
  readonly seq: number
  /** True for a message that its persona has read; retention asks. */
  readonly read: boolean
  path: string
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
  { path, offset, length }: StoredLineLocation,
): LiveImage {
  return { seq, read: item_type === 'message' && isRead(payload), path, offset, length }
}

/** The fold of the journal's records, kept up to date by each commit. */
export class JournalState {
  readonly #fold: Fold<LiveImage>
  /** The last revisions of removed entities. */
  readonly removed: RemovedRevisions
  /** The file of the line that is folded now. */
  #path = ''
  readonly keys: KeyLedger = new KeyLedger()
  readonly capabilities: Set<string> = new Set()
  #personas: Personas | undefined

  constructor() {
    this.#fold = new Fold<LiveImage>({
      of: ({ record, offset, length }) => imageOf(record, { path: this.#path, offset, length }),
    })
    this.removed = new RemovedRevisions(this.#fold.entities)
  }

  /** The entities, to be read. */
  get entities(): EntityTable<LiveImage> {
    return this.#fold.entities
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
  released(line: SegmentLine, path: string): void {
    this.#path = path
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
      this.removed.add(revision[0], revision[1], 0)
    }
    for (const key of keys) this.keys.restore(key)
    for (const capability of capabilities) this.capabilities.add(capability)
  }

  /** What a record does besides its effect on an entity. */
  #follow(record: AppliedRecord, effect: Effect): void {
    const { item_type, item_id, seq } = record
    this.keys.record(seq, record.ts, record.key)
    if (item_id !== undefined && effect === 'remove') this.removed.add(item_type, item_id, seq)
    if (item_id !== undefined && effect === 'upsert') this.removed.delete(item_type, item_id)
    this.#personas?.apply(record, effect)
    if (effect !== 'meta' || !isRegistryGenesis(record)) return
    this.capabilities.add(registryCapability)
    if (record.payload?.['mode'] === 'all') this.capabilities.add(registryOfAllCapability)
  }
}

/**
 * The last revisions of entities that were removed. Those of a type that never comes back are kept until a checkpoint
 * covers them, and there are as many as messages come: then their slots in the table are other entities'.
 */
export class RemovedRevisions {
  readonly #entities: EntityTable<unknown>
  /** Slot to the seq of the last removal, for entities of such types, in the order of their removal. */
  readonly #forgettable: Map<number, number> = new Map()

  constructor(entities: EntityTable<unknown>) {
    this.#entities = entities
  }

  /** The record with this seq removed it; 0 if a checkpoint states that it was removed before. */
  add(itemType: string, itemId: string, seq: number): void {
    if (!forgetsRevision(itemType)) return
    const slot = this.#entities.slotOf(itemType, itemId)
    // Without a revision there is nothing to keep.
    if (slot < 0) return
    this.#forgettable.delete(slot)
    this.#forgettable.set(slot, seq)
  }

  /** It is live again. */
  delete(itemType: string, itemId: string): void {
    if (this.#forgettable.size === 0 || !forgetsRevision(itemType)) return
    this.#forgettable.delete(this.#entities.slotOf(itemType, itemId))
  }

  /** Forgets what a checkpoint up to this seq covers: a writer that opens from that checkpoint does not know it either. */
  forget(headSeq: number): void {
    for (const [slot, seq] of this.#forgettable) {
      if (seq > headSeq) continue
      this.#forgettable.delete(slot)
      this.#entities.forget(slot)
    }
  }

  /** Those that a checkpoint keeps: a type that never comes back needs none. */
  *entries(): Generator<Revision> {
    for (const revision of this.#entities.removed()) if (!forgetsRevision(revision[0])) yield revision
  }
}

interface Remembered {
  readonly seq: number
  /** The time of the journal when the key was used, in milliseconds. */
  readonly atMs: number
}

/** The idempotency keys of the journal: the first record with each key. */
export class KeyLedger {
  readonly #known: Map<string, Remembered> = new Map()
  readonly #time: JournalTime = new JournalTime()

  get size(): number {
    return this.#known.size
  }

  /** The seq of the record that carries this key. */
  find(key: string): number | undefined {
    return this.#known.get(key)?.seq
  }

  /** Takes over a record that has its effect. */
  record(seq: number, ts: string | undefined, key: string | undefined): void {
    this.#time.see(ts)
    if (key === undefined) return
    const atMs = this.#time.ms
    const first = this.#known.get(key)
    // The first record is the answer until it is old enough to be forgotten.
    if (Number.isNaN(atMs) || (first !== undefined && !isKeyForgettable(atMs - first.atMs))) return
    this.#known.set(key, { seq, atMs })
  }

  /** Takes over what a checkpoint remembers. */
  restore([key, seq, ts]: KeyEntry): void {
    this.record(seq, ts, key)
  }

  /** Forgets what is older than a client may retry. */
  forget(): void {
    const nowMs = this.#time.ms
    for (const [key, { atMs }] of this.#known) {
      if (isKeyForgettable(nowMs - atMs)) this.#known.delete(key)
    }
  }

  /** Everything remembered, in the order of seq. */
  entries(): KeyEntry[] {
    return [...this.#known]
      .map(([key, { seq, atMs }]): KeyEntry => [key, seq, new Date(atMs).toISOString()])
      .sort((a, b) => a[1] - b[1])
  }
}

import {
  type Classifiable,
  type Effect,
  effectOf,
  isRegistryGenesis,
  type JsonObject,
  type PayloadRef,
  type Revision,
  registryCapability,
  registryOfAllCapability,
} from '@kim/manifest'
import { KeyLedger } from './keys.js'
import { RemovedRevisions } from './removed.js'
import type { Place, StoreFile } from './store-file.js'

/**
 * A live entity: what the writer needs of it at every commit, and where its newest image stands. Payloads stay
 * on the disk, so that the writer's memory grows with the number of entities and not with their size.
 */
export interface LiveEntity {
  readonly item_type: string
  readonly item_id: string
  readonly entity_rev: number | undefined
  readonly seq: number
  /** True for a message that its persona has read; retention asks. */
  readonly read: boolean
  file: StoreFile
  offset: number
  length: number
}

/** What a state record or a checkpoint's line says about an entity. */
export interface EntityImage {
  readonly item_type: string
  readonly item_id?: string | undefined
  readonly entity_rev?: number | undefined
  readonly seq: number
  readonly payload?: JsonObject | undefined
  readonly payload_ref?: PayloadRef | undefined
}

/** What of a record decides what it does to the state: one just written, or one that was read. */
export interface AppliedRecord extends EntityImage {
  readonly action: string
  readonly event?: string | undefined
  readonly key?: string | undefined
  readonly ts?: string | undefined
}

type ByType<T> = Map<string, Map<string, T>>

function inner<T>(map: ByType<T>, itemType: string): Map<string, T> {
  let found = map.get(itemType)
  if (found === undefined) {
    found = new Map()
    map.set(itemType, found)
  }
  return found
}

/** A message counts as read when its row says so, and when it was redacted. */
function isRead(image: EntityImage): boolean {
  return (
    image.item_type === 'message' &&
    (image.payload?.['read'] === true || image.payload?.['redacted'] === true)
  )
}

/** What the journal says is so: the fold of its records, kept up to date by each commit. */
export class JournalState {
  readonly #live: ByType<LiveEntity> = new Map()
  readonly #removed: RemovedRevisions = new RemovedRevisions()
  readonly keys: KeyLedger = new KeyLedger()
  readonly capabilities: Set<string> = new Set()
  #size = 0
  #head = 0
  #headWriter: string | null = null

  /** How many entities are live. */
  get size(): number {
    return this.#size
  }

  /** The highest seq of a valid record; 0 if there is none. */
  get head(): number {
    return this.#head
  }

  /** Who wrote the record at the head. */
  get headWriter(): string | null {
    return this.#headWriter
  }

  find(itemType: string, itemId: string): LiveEntity | undefined {
    return this.#live.get(itemType)?.get(itemId)
  }

  *values(itemType?: string): Generator<LiveEntity> {
    if (itemType !== undefined) yield* this.#live.get(itemType)?.values() ?? []
    else for (const map of this.#live.values()) yield* map.values()
  }

  /** The last known revision of an entity, live or removed. */
  revisionOf(itemType: string, itemId: string): number | undefined {
    return this.find(itemType, itemId)?.entity_rev ?? this.#removed.find(itemType, itemId)
  }

  /** A valid record stood at the head, whatever its effect. */
  advance(seq: number, writer: string | undefined): void {
    if (seq < this.#head) return
    this.#head = seq
    this.#headWriter = writer ?? null
  }

  /** Makes a record's effect. Only records that have one come here: never those of an incomplete run. */
  apply(record: AppliedRecord, effect: Effect, place: Place): void {
    this.keys.record(record.seq, record.ts, record.key)
    if (effect === 'upsert') this.put(record, place)
    else if (effect === 'remove') this.remove(record, place)
    else if (isRegistryGenesis(record)) {
      this.capabilities.add(registryCapability)
      if (record.payload?.['mode'] === 'all') this.capabilities.add(registryOfAllCapability)
    }
  }

  /** The effect of a record that was read. */
  applyRecord(record: AppliedRecord & Classifiable, place: Place): void {
    this.apply(record, effectOf(record), place)
  }

  /** An entity as it now stands. */
  put(image: EntityImage, place: Place): void {
    const { item_type, item_id, entity_rev, seq } = image
    if (item_id === undefined) return
    const { file, offset, length } = place
    const map = inner(this.#live, item_type)
    const before = map.size
    map.set(item_id, { item_type, item_id, entity_rev, seq, read: isRead(image), file, offset, length })
    this.#size += map.size - before
    this.#removed.delete(item_type, item_id)
  }

  remove(image: EntityImage, { file }: Place): void {
    const { item_type, item_id, seq } = image
    if (item_id === undefined) return
    const revision = image.entity_rev ?? this.revisionOf(item_type, item_id)
    if (this.#live.get(item_type)?.delete(item_id) === true) this.#size--
    if (revision !== undefined) this.#removed.add([item_type, item_id, revision], seq, file)
  }

  /** The revision of an entity that a checkpoint says was removed before it. */
  putRemoved(revision: Revision, file: StoreFile): void {
    this.#removed.add(revision, 0, file)
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
}

import type { JsonObject, PayloadRef, ReadRecord } from './envelope.js'
import type { Effect } from './kinds.js'

/** The newest image of an entity. */
export interface Entity {
  readonly item_type: string
  readonly item_id: string
  readonly agent?: string | undefined
  readonly entity_rev?: number | undefined
  readonly payload?: JsonObject | undefined
  readonly payload_ref?: PayloadRef | undefined
  readonly seq: number
  readonly ts?: string | undefined
}

/** Type and id of an entity, and its last known revision. */
export type Revision = readonly [itemType: string, itemId: string, entityRev: number]

/** Two-level map by type and id, so that no name can collide with another. */
type ByEntity<T> = Map<string, Map<string, T>>

function put<T>(map: ByEntity<T>, type: string, id: string, value: T): void {
  const inner = map.get(type)
  if (inner === undefined) map.set(type, new Map([[id, value]]))
  else inner.set(id, value)
}

/** The live entities, and the revisions of those that are gone. */
export class Projection {
  readonly #live: ByEntity<Entity> = new Map()
  /** Known revisions of entities that are not live or whose newest image does not tell. */
  readonly #revisions: ByEntity<number> = new Map()
  readonly #forgets: (itemType: string) => boolean
  #size = 0

  /** `forgetsRevision` is true for types whose revision is not kept once an entity is gone. */
  constructor(forgetsRevision: (itemType: string) => boolean = () => false) {
    this.#forgets = forgetsRevision
  }

  /** The live entities by type and id. */
  get entities(): ReadonlyMap<string, ReadonlyMap<string, Entity>> {
    return this.#live
  }

  /** How many entities are live. */
  get size(): number {
    return this.#size
  }

  /** A live entity. */
  get(itemType: string, itemId: string): Entity | undefined {
    return this.#live.get(itemType)?.get(itemId)
  }

  /** Every live entity. */
  *values(): Generator<Entity> {
    for (const inner of this.#live.values()) yield* inner.values()
  }

  /** The last known revision of an entity, live or gone. */
  revisionOf(itemType: string, itemId: string): number | undefined {
    return this.get(itemType, itemId)?.entity_rev ?? this.#revisions.get(itemType)?.get(itemId)
  }

  /** The known revisions of entities that are gone. */
  *goneRevisions(): Generator<Revision> {
    for (const [itemType, inner] of this.#revisions) {
      for (const [itemId, entityRev] of inner) {
        if (this.get(itemType, itemId) === undefined) yield [itemType, itemId, entityRev]
      }
    }
  }

  /** Takes over an entity as it stands, from a checkpoint. */
  load(entity: Entity): void {
    if (this.get(entity.item_type, entity.item_id) === undefined) this.#size++
    put(this.#live, entity.item_type, entity.item_id, entity)
  }

  /** Takes over the revision of an entity that is gone, from a checkpoint. */
  loadRevision([itemType, itemId, entityRev]: Revision): void {
    put(this.#revisions, itemType, itemId, entityRev)
  }

  /** Makes the effect of a record its state; returns the image it replaced or removed. */
  apply(record: ReadRecord, effect: Effect): Entity | undefined {
    const { item_type, item_id } = record
    if (item_id === undefined || (effect !== 'upsert' && effect !== 'remove')) return undefined
    const before = this.get(item_type, item_id)
    if (effect === 'upsert') this.#upsert(item_type, item_id, record, before)
    else this.#remove(item_type, item_id, record, before)
    return before
  }

  #upsert(item_type: string, item_id: string, record: ReadRecord, before: Entity | undefined): void {
    const { agent, entity_rev, payload, payload_ref, seq, ts } = record
    if (before === undefined) this.#size++
    if (entity_rev !== undefined) this.#revisions.get(item_type)?.delete(item_id)
    else if (before?.entity_rev !== undefined) put(this.#revisions, item_type, item_id, before.entity_rev)
    put(this.#live, item_type, item_id, {
      item_type,
      item_id,
      agent,
      entity_rev,
      payload,
      payload_ref,
      seq,
      ts,
    })
  }

  #remove(item_type: string, item_id: string, record: ReadRecord, before: Entity | undefined): void {
    const revision = record.entity_rev ?? before?.entity_rev
    if (before !== undefined) {
      this.#live.get(item_type)?.delete(item_id)
      this.#size--
    }
    if (this.#forgets(item_type)) this.#revisions.get(item_type)?.delete(item_id)
    else if (revision !== undefined) put(this.#revisions, item_type, item_id, revision)
  }
}

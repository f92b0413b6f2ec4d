/** The live entities: what a cold start found, and over it what records have changed since. */
import {
  type Effect,
  type Entity,
  entityKey,
  isJsonObject,
  type JsonObject,
  type PayloadRef,
  payloadHash,
  projectionDigest,
  type ReadRecord,
} from '@kim/manifest'
import { type Base, entityOf, type Flaw } from '../tail/base.js'
import { type BlobReader, type EntityView, LiveView, SlotView, type ViewSource } from './view.js'

/** The live entities, to be read. */
export interface StateView {
  /** How many there are. */
  readonly size: number
  /** One entity; reading its payload is what parses it. */
  get(itemType: string, itemId: string): EntityView | undefined
  /** All entities, or those of one type. */
  values(itemType?: string): IterableIterator<EntityView>
}

/** What the state asks of its surroundings. */
export interface StateNeeds {
  readonly blob: BlobReader
  /** A blob could not be had; said once per image. */
  readonly onBlob: (kind: 'blob_missing' | 'blob_mismatch') => void
  /** Images turned out not to be what they seemed: gives the base without them, at the same place. */
  readonly onFlaws: (flaws: readonly Flaw[]) => Base
}

/** The state of one observer. */
export class State implements StateView, ViewSource {
  readonly #needs: StateNeeds
  #base: Base
  readonly #live = new Map<string, Map<string, Entity>>()
  #liveSize = 0
  /** Entities that a record has changed since the base. */
  readonly #touched = new Map<
    string,
    { readonly itemType: string; readonly itemId: string; revision: number | undefined }
  >()
  readonly #missed = new Set<string>()

  constructor(base: Base, needs: StateNeeds) {
    this.#base = base
    this.#needs = needs
  }

  get size(): number {
    return this.#base.size + this.#liveSize
  }

  /** How many are live, by item type. */
  get counts(): ReadonlyMap<string, number> {
    const counts = new Map(this.#base.counts)
    for (const [type, live] of this.#live) counts.set(type, (counts.get(type) ?? 0) + live.size)
    return counts
  }

  get(itemType: string, itemId: string): EntityView | undefined {
    const entity = this.#live.get(itemType)?.get(itemId)
    if (entity !== undefined) return new LiveView(entity, this)
    const slot = this.#base.find(itemType, itemId)
    return slot < 0 ? undefined : new SlotView(this.#base, slot, this)
  }

  *values(itemType?: string): IterableIterator<EntityView> {
    const base = this.#base
    for (const slot of base.slots(itemType)) yield new SlotView(base, slot, this)
    for (const [type, live] of this.#live) {
      if (itemType !== undefined && type !== itemType) continue
      for (const entity of live.values()) yield new LiveView(entity, this)
    }
  }

  /** Makes a record's effect its own; true if it raises the entity's revision by more than one. */
  apply(record: ReadRecord, effect: Effect): boolean {
    const { item_type: itemType, item_id: itemId, entity_rev: revision } = record
    if (itemId === undefined || (effect !== 'upsert' && effect !== 'remove')) return false
    const key = entityKey(itemType, itemId)
    const slot = this.#base.find(itemType, itemId)
    const before = this.#touched.get(key)?.revision ?? (slot < 0 ? undefined : this.#base.revision(slot))
    if (slot >= 0) this.#base.drop(slot)
    this.#touched.set(key, { itemType, itemId, revision: revision ?? before })
    const live = this.#live.get(itemType)
    if (effect === 'remove') {
      if (live?.delete(itemId) === true) this.#liveSize -= 1
    } else {
      if (live?.has(itemId) !== true) this.#liveSize += 1
      if (live === undefined) this.#live.set(itemType, new Map([[itemId, entityOf(record)]]))
      else live.set(itemId, entityOf(record))
    }
    return revision !== undefined && before !== undefined && revision > before + 1
  }

  /** The projection digest: parses every payload. */
  digest(): string {
    this.#heal()
    const entities: { item_type: string; item_id: string; entity_rev: number | undefined; hash: string }[] =
      []
    for (const slot of this.#base.slots()) {
      const entity = this.#base.read(slot)
      if (entity !== undefined)
        entities.push({ ...entity, entity_rev: entity.entity_rev, hash: hashOf(entity) })
    }
    for (const live of this.#live.values()) {
      for (const entity of live.values()) {
        entities.push({ ...entity, entity_rev: entity.entity_rev, hash: hashOf(entity) })
      }
    }
    return projectionDigest(entities)
  }

  /** Until every image is what it seemed: the older image of an entity takes the place of one that is not. */
  #heal(): void {
    for (;;) {
      const flaws: Flaw[] = []
      for (const slot of this.#base.slots()) {
        if (this.#base.read(slot) === undefined) flaws.push(this.#base.flaw(slot))
      }
      if (flaws.length === 0) return
      this.#base = this.#needs.onFlaws(flaws)
      for (const { itemType, itemId } of this.#touched.values()) {
        const slot = this.#base.find(itemType, itemId)
        if (slot >= 0) this.#base.drop(slot)
      }
    }
  }

  /** The line was not what its frame promised: an older one speaks for the entity, if there is any. */
  heal(base: Base, itemType: string, itemId: string): Entity | undefined {
    if (base === this.#base) this.#heal()
    const older = this.#base.find(itemType, itemId)
    return older < 0 ? undefined : this.#base.read(older)
  }

  blob(entity: Entity, ref: PayloadRef): JsonObject | undefined {
    const read = this.#needs.blob(ref)
    if (read === 'missing' || read === 'mismatch') {
      const image = JSON.stringify([entity.item_type, entity.item_id, entity.seq])
      if (!this.#missed.has(image)) this.#needs.onBlob(`blob_${read}`)
      this.#missed.add(image)
      return undefined
    }
    try {
      const value: unknown = JSON.parse(new TextDecoder().decode(read))
      return isJsonObject(value) ? value : undefined
    } catch {
      return undefined
    }
  }
}

function hashOf({ payload, payload_ref }: Entity): string {
  return payload_ref === undefined ? payloadHash(payload ?? {}) : payload_ref.sha256
}

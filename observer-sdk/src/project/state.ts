/** The live entities: what a cold start found, and over it what records have changed since. */
import { Buffer } from 'node:buffer'
import {
  type Effect,
  type Entity,
  type JsonObject,
  type PayloadRef,
  parsePayload,
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
  /** Images turned out not to be what they seemed: gives the base without them and all those told before, at the same place. */
  readonly onFlaws: (flaws: readonly Flaw[]) => Base
}

/** How many entities that came and went since the base are kept in mind, for their revisions. */
const GONE_MAX = 50_000

/** An entity that a record has changed since the base. */
interface Changed {
  readonly isInBase: boolean
  /** Absent once it was removed. */
  entity: Entity | undefined
  revision: number | undefined
}

/** Those of one item type. */
interface ChangedOfType {
  readonly byId: Map<string, Changed>
  live: number
  /** How many were removed, and are not in the base either. */
  gone: number
}

/** The state of one observer. */
export class State implements StateView, ViewSource {
  readonly #needs: StateNeeds
  #base: Base
  readonly #changed = new Map<string, ChangedOfType>()
  readonly #missed = new Set<string>()

  constructor(base: Base, needs: StateNeeds) {
    this.#base = base
    this.#needs = needs
  }

  get size(): number {
    let size = this.#base.size
    for (const { live } of this.#changed.values()) size += live
    return size
  }

  /** How many are live, by item type. */
  get counts(): ReadonlyMap<string, number> {
    const counts = new Map(this.#base.counts)
    for (const [type, { live }] of this.#changed) counts.set(type, (counts.get(type) ?? 0) + live)
    return counts
  }

  get(itemType: string, itemId: string): EntityView | undefined {
    const entity = this.#changed.get(itemType)?.byId.get(itemId)?.entity
    if (entity !== undefined) return new LiveView(entity, this)
    const slot = this.#base.find(itemType, itemId)
    return slot < 0 ? undefined : new SlotView(this.#base, slot, this)
  }

  *values(itemType?: string): IterableIterator<EntityView> {
    yield* this.startingWith('', itemType)
  }

  /** Those whose id begins so: no name is made of the others. */
  *startingWith(prefix: string, itemType?: string): IterableIterator<EntityView> {
    const base = this.#base
    for (const slot of base.slots(itemType, prefix)) yield new SlotView(base, slot, this)
    for (const entity of this.#live(itemType))
      if (entity.item_id.startsWith(prefix)) yield new LiveView(entity, this)
  }

  /** Makes a record's effect its own; true if it raises the entity's revision by more than one. */
  apply(record: ReadRecord, effect: Effect): boolean {
    const { item_type: itemType, item_id: itemId, entity_rev: revision } = record
    if (itemId === undefined || (effect !== 'upsert' && effect !== 'remove')) return false
    const ofType = this.#ofType(itemType)
    let changed = ofType.byId.get(itemId)
    if (changed === undefined) {
      changed = this.#takeOver(itemType, itemId)
      ofType.byId.set(itemId, changed)
    } else if (changed.entity !== undefined) ofType.live -= 1
    else if (!changed.isInBase) ofType.gone -= 1
    const before = changed.revision
    changed.revision = revision ?? before
    changed.entity = effect === 'remove' ? undefined : entityOf(record)
    if (changed.entity !== undefined) ofType.live += 1
    else if (!changed.isInBase && ++ofType.gone > GONE_MAX) forgetGone(ofType)
    return revision !== undefined && before !== undefined && revision > before + 1
  }

  #ofType(itemType: string): ChangedOfType {
    const known = this.#changed.get(itemType)
    if (known !== undefined) return known
    const ofType = { byId: new Map(), live: 0, gone: 0 }
    this.#changed.set(itemType, ofType)
    return ofType
  }

  /** From now on records speak for this entity, and the base no more. */
  #takeOver(itemType: string, itemId: string): Changed {
    const slot = this.#base.find(itemType, itemId)
    if (slot < 0) return { isInBase: false, entity: undefined, revision: undefined }
    const revision = this.#base.revision(slot)
    this.#base.drop(slot)
    return { isInBase: true, entity: undefined, revision }
  }

  *#live(itemType?: string): Generator<Entity> {
    for (const [type, { byId }] of this.#changed) {
      if (itemType !== undefined && type !== itemType) continue
      for (const { entity } of byId.values()) if (entity !== undefined) yield entity
    }
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
    for (const entity of this.#live())
      entities.push({ ...entity, entity_rev: entity.entity_rev, hash: hashOf(entity) })
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
      for (const [itemType, { byId }] of this.#changed)
        for (const itemId of byId.keys()) this.#takeOver(itemType, itemId)
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
    return parsePayload(Buffer.from(read.buffer, read.byteOffset, read.length).toString('utf8'))
  }
}

/** What was neither there before nor is there now. The base's own stay, since it may be made again. */
function forgetGone(ofType: ChangedOfType): void {
  for (const [id, { entity, isInBase }] of ofType.byId)
    if (entity === undefined && !isInBase) ofType.byId.delete(id)
  ofType.gone = 0
}

function hashOf({ payload, payload_ref }: Entity): string {
  return payload_ref === undefined ? payloadHash(payload ?? {}) : payload_ref.sha256
}

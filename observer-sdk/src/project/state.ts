/** The live entities of an observer: what a cold start folded, and what records have changed since. */
import { Buffer } from 'node:buffer'
import {
  type Effect,
  type Entity,
  type Fold,
  type JsonObject,
  type PayloadRef,
  parsePayload,
  payloadHash,
  projectionDigest,
  type ReadRecord,
} from '@kim/manifest'
import { entityOf, type Flaw, type Image, ParsedImage, StoredLine } from '../tail/stored-image.js'
import { type BlobReader, type EntityView, ImageView, type ViewSource } from './view.js'

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
  /** A blob could not be had; reported once per image. */
  readonly onBlob: (kind: 'blob_missing' | 'blob_mismatch') => void
  /** Lines turned out not to be what they seemed: returns the fold of the same place with their segments parsed. */
  readonly onFlaws: (flaws: readonly Flaw[]) => Fold<Image>
}

/** How many removed entities are kept in mind, for their revisions. */
const REMOVED_MAX = 50_000

/** The state of one observer. */
export class State implements StateView, ViewSource {
  readonly #needs: StateNeeds
  #fold: Fold<Image>
  readonly #missed = new Set<string>()
  #removed = 0
  readonly #atOpen: number

  constructor(fold: Fold<Image>, needs: StateNeeds) {
    this.#fold = fold
    this.#needs = needs
    this.#atOpen = fold.entities.slotCount
  }

  /** What records are folded into. It is another one once a line turned out not to be what it seemed. */
  get fold(): Fold<Image> {
    return this.#fold
  }

  get size(): number {
    return this.#fold.entities.size
  }

  /** How many are live, by item type. */
  get counts(): ReadonlyMap<string, number> {
    return this.#fold.entities.counts
  }

  get(itemType: string, itemId: string): EntityView | undefined {
    const { entities } = this.#fold
    const slot = entities.slotOf(itemType, itemId)
    return slot < 0 || entities.imageAt(slot) === undefined ? undefined : new ImageView(entities, slot, this)
  }

  *values(itemType?: string): IterableIterator<EntityView> {
    yield* this.startingWith('', itemType)
  }

  /** Those whose id begins so: no name is made of the others. */
  *startingWith(prefix: string, itemType?: string): IterableIterator<EntityView> {
    const { entities } = this.#fold
    for (const slot of entities.slots(itemType, prefix)) yield new ImageView(entities, slot, this)
  }

  /** Gives a record its effect. */
  apply(record: ReadRecord, effect: Effect): void {
    this.#fold.apply(record, effect, () => new ParsedImage(record))
    if (effect !== 'remove') return
    this.#removed += 1
    if (this.#removed <= REMOVED_MAX) return
    // What was there at the open stays known: there are only so many of those.
    this.#fold.entities.forgetRemoved(this.#atOpen)
    this.#removed = 0
  }

  /** The projection digest: parses every payload. */
  digest(): string {
    this.#heal()
    const entities: { item_type: string; item_id: string; entity_rev: number | undefined; hash: string }[] =
      []
    for (const { item_type, item_id, image } of this.#fold.entities.entries()) {
      const entity = entityOf(image, item_type, item_id)
      if (entity !== undefined)
        entities.push({ item_type, item_id, entity_rev: entity.entity_rev, hash: hashOf(entity) })
    }
    return projectionDigest(entities)
  }

  /** Until every image is what it seemed: the older image of an entity takes the place of one that is not. */
  #heal(): void {
    for (;;) {
      const flaws: Flaw[] = []
      for (const { item_type, item_id, image } of this.#fold.entities.entries()) {
        if (image instanceof StoredLine && entityOf(image, item_type, item_id) === undefined)
          flaws.push(image.flaw)
      }
      if (flaws.length === 0) return
      this.#fold = this.#needs.onFlaws(flaws)
    }
  }

  heal(image: Image, itemType: string, itemId: string): Image | undefined {
    const { entities } = this.#fold
    if (entities.get(itemType, itemId) === image) this.#heal()
    return this.#fold.entities.get(itemType, itemId)
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

function hashOf({ payload, payload_ref }: Entity): string {
  return payload_ref === undefined ? payloadHash(payload ?? {}) : payload_ref.sha256
}

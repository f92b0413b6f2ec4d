import {
  type DigestEntity,
  type Entity,
  entityKey,
  Fold,
  type JsonObject,
  type PayloadRef,
  payloadHash,
  type TableEntry,
} from '@kim/manifest'
import type { RecordEntry } from './walk.js'

/** Line bytes of payloads that may wait unhashed: most are replaced before anyone asks for their hash. */
const waitingBytesMax = 16 * 1024 * 1024

/** What an image is made of. */
type ImageState = Omit<Entity, 'item_type' | 'item_id'>

/** The newest image of an entity, its payload reduced to a hash as soon as memory asks for it. */
export class HashedImage {
  readonly seq: number
  readonly agent: string | undefined
  readonly ts: string | undefined
  readonly rev: number | undefined
  readonly ref: PayloadRef | undefined
  /** True for what a redaction leaves of a payload. */
  readonly redacted: boolean
  /** Bytes it holds while its payload waits. */
  readonly cost: number
  #payload: JsonObject | undefined
  #hash: string | undefined

  constructor(state: ImageState, cost: number) {
    this.seq = state.seq
    this.agent = state.agent
    this.ts = state.ts
    this.rev = state.entity_rev
    this.ref = state.payload_ref
    this.redacted = state.payload?.['redacted'] === true
    this.cost = cost
    this.#payload = state.payload
    this.#hash = state.payload_ref?.sha256
  }

  /** The hash its payload has in the projection digest. */
  get hash(): string {
    this.#hash ??= payloadHash(this.#payload ?? {})
    this.#payload = undefined
    return this.#hash
  }
}

/** What is known of a removed entity. */
export interface Removal {
  readonly item_type: string
  readonly item_id: string
  readonly seq: number
  readonly rev: number | undefined
}

/**
 * The state a journal makes, held for comparison only: revisions, places and payload hashes, never the bytes of
 * a journal. The fold keeps nothing of removed entities. What `verify` needs of them is kept here: it must also know
 * when each was removed, because records may be missing since.
 */
export class HashedState {
  readonly #fold: Fold<HashedImage>
  /** Up to which seq the state was taken over from a checkpoint instead of from records; 0 if it was not. */
  baseline = 0
  readonly #removals = new Map<string, Removal>()
  readonly #waiting = new Set<HashedImage>()
  #waitingBytes = 0

  constructor() {
    this.#fold = new Fold(
      { of: ({ record, length }, before) => this.#image(record, length, before) },
      {},
      { forgets: () => true },
    )
  }

  /** How many entities are live. */
  get size(): number {
    return this.#fold.entities.size
  }

  /** The image of a live entity. */
  get(type: string, id: string): HashedImage | undefined {
    return this.#fold.entities.get(type, id)
  }

  /** What is known of an entity that was removed and is not live. */
  removal(type: string, id: string): Removal | undefined {
    return this.#removals.get(entityKey(type, id))
  }

  /** Gives a record its effect. */
  apply({ record, effect, length }: RecordEntry): void {
    const before = this.#fold.apply(record, effect, image => this.#image(record, length, image))
    const { item_type, item_id, seq, entity_rev } = record
    if (item_id === undefined) return
    if (effect === 'upsert' && before === undefined) this.#removals.delete(entityKey(item_type, item_id))
    if (effect !== 'remove') return
    if (before !== undefined) this.#forget(before)
    this.adoptRemoval({ item_type, item_id, seq, rev: entity_rev ?? before?.rev })
  }

  /** Takes over a live entity from a checkpoint; returns its image. */
  adopt(entity: Entity): HashedImage {
    const { item_type: type, item_id: id, entity_rev } = entity
    const image = this.#image(entity, 0, this.get(type, id))
    this.#fold.load(type, id, image, entity_rev)
    this.#removals.delete(entityKey(type, id))
    return image
  }

  /** Takes over from a checkpoint that an entity which is not live was removed. */
  adoptRemoval(removal: Removal): void {
    this.#removals.set(entityKey(removal.item_type, removal.item_id), removal)
  }

  /** Forgets a live entity without a trace. */
  drop(type: string, id: string): void {
    const { entities } = this.#fold
    const slot = entities.slotOf(type, id)
    const before = slot < 0 ? undefined : entities.imageAt(slot)
    if (before === undefined) return
    this.#forget(before)
    entities.forget(slot)
  }

  /** Every live entity. */
  entities(): Iterable<TableEntry<HashedImage>> {
    return this.#fold.entities.entries()
  }

  /** Every live entity as the projection digest sees it. */
  *digestEntities(): Generator<DigestEntity> {
    for (const { item_type, item_id, image } of this.entities())
      yield { item_type, item_id, entity_rev: image.rev, hash: image.hash }
  }

  /** Every removed entity that is not live. */
  removals(): Iterable<Removal> {
    return this.#removals.values()
  }

  #image(state: ImageState, lineLength: number, before: HashedImage | undefined): HashedImage {
    if (before !== undefined) this.#forget(before)
    const image = new HashedImage(state, state.payload === undefined ? 0 : lineLength)
    this.#wait(image)
    return image
  }

  #wait(image: HashedImage): void {
    if (image.cost === 0) return
    this.#waiting.add(image)
    this.#waitingBytes += image.cost
    for (const oldest of this.#waiting) {
      if (this.#waitingBytes <= waitingBytesMax) return
      void oldest.hash
      this.#forget(oldest)
    }
  }

  #forget(image: HashedImage): void {
    if (this.#waiting.delete(image)) this.#waitingBytes -= image.cost
  }
}

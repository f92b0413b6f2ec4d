import type { DigestEntity, Entity, JsonObject, PayloadRef, ReadRecord } from '@kim/manifest'
import { payloadHash } from '@kim/manifest'

/** Line bytes of payloads that may wait unhashed: most are replaced before anyone asks for their hash. */
const waitingBytesMax = 16 * 1024 * 1024

/** The newest image of an entity, its payload reduced to a hash as soon as memory asks for it. */
export class Image {
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

  constructor(state: Omit<Entity, 'item_type' | 'item_id'>, cost: number) {
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

/** What is known of an entity that is gone. */
export interface Grave {
  readonly seq: number
  readonly rev: number | undefined
}

/** An entity with its image. */
export interface LiveEntity {
  readonly item_type: string
  readonly item_id: string
  readonly image: Image
}

/**
 * The state a journal makes, held for comparison only: revisions, places and payload hashes, never the bytes of
 * a journal. Written apart from the fold that makes checkpoints, because it judges them.
 */
export class EntityTable {
  readonly #live = new Map<string, Map<string, Image>>()
  readonly #graves = new Map<string, Map<string, Grave>>()
  readonly #waiting = new Set<Image>()
  #waitingBytes = 0
  #size = 0

  /** How many entities are live. */
  get size(): number {
    return this.#size
  }

  /** The image of a live entity. */
  get(type: string, id: string): Image | undefined {
    return this.#live.get(type)?.get(id)
  }

  /** What is known of an entity that is not live. */
  grave(type: string, id: string): Grave | undefined {
    return this.#graves.get(type)?.get(id)
  }

  /** Lets a record that upserts take effect; `cost` is the length of its line. */
  upsert(type: string, id: string, record: ReadRecord, cost: number): void {
    this.put(type, id, new Image(record, record.payload === undefined ? 0 : cost))
  }

  /** Makes an image the newest of an entity. */
  put(type: string, id: string, image: Image): void {
    const ids = idsOf(this.#live, type)
    const before = ids.get(id)
    if (before === undefined) this.#size += 1
    else this.#forget(before)
    ids.set(id, image)
    this.#graves.get(type)?.delete(id)
    this.#wait(image)
  }

  /** Lets a record that removes take effect. */
  remove(type: string, id: string, grave: Grave): void {
    this.drop(type, id)
    idsOf(this.#graves, type).set(id, grave)
  }

  /** Forgets a live entity without a trace. */
  drop(type: string, id: string): void {
    const ids = this.#live.get(type)
    const before = ids?.get(id)
    if (ids === undefined || before === undefined) return
    this.#forget(before)
    ids.delete(id)
    this.#size -= 1
  }

  /** Every live entity. */
  *entities(): Generator<LiveEntity> {
    for (const [item_type, ids] of this.#live) {
      for (const [item_id, image] of ids) yield { item_type, item_id, image }
    }
  }

  /** Every live entity as the projection digest sees it. */
  *digestEntities(): Generator<DigestEntity> {
    for (const { item_type, item_id, image } of this.entities()) {
      yield { item_type, item_id, entity_rev: image.rev, hash: image.hash }
    }
  }

  /** Every entity that is gone and whose revision is known. */
  *gone(): Generator<{ readonly item_type: string; readonly item_id: string; readonly grave: Grave }> {
    for (const [item_type, ids] of this.#graves) {
      for (const [item_id, grave] of ids) yield { item_type, item_id, grave }
    }
  }

  #wait(image: Image): void {
    if (image.cost === 0) return
    this.#waiting.add(image)
    this.#waitingBytes += image.cost
    for (const oldest of this.#waiting) {
      if (this.#waitingBytes <= waitingBytesMax) return
      void oldest.hash
      this.#forget(oldest)
    }
  }

  #forget(image: Image): void {
    if (this.#waiting.delete(image)) this.#waitingBytes -= image.cost
  }
}

function idsOf<T>(types: Map<string, Map<string, T>>, type: string): Map<string, T> {
  const known = types.get(type)
  if (known !== undefined) return known
  const ids = new Map<string, T>()
  types.set(type, ids)
  return ids
}

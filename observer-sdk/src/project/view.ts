import type { Entity, JsonObject, PayloadRef } from '@kim/manifest'

/** A live entity. Reading `payload` is what parses it; a large one is read from its blob then. */
export interface EntityView {
  readonly item_type: string
  readonly item_id: string
  /** Absent if the journal does not tell. */
  readonly entity_rev: number | undefined
  readonly seq: number | undefined
  readonly ts: string | undefined
  readonly agent: string | undefined
  /** The full state; `undefined` if it stands in a blob that cannot be had. */
  readonly payload: JsonObject | undefined
  /** The blob that is missing or is not what the record says. */
  readonly unavailable: PayloadRef | undefined
}

/** Reads the payload that a reference names, or says what is wrong with it. */
export type BlobReader = (ref: PayloadRef) => Uint8Array | 'missing' | 'mismatch'

/** Where views get what they do not hold. */
export interface ViewSource {
  /** The entity as it was when the view was given out. */
  materialize(): Entity | undefined
  blob(entity: Entity, ref: PayloadRef): JsonObject | undefined
}

/** An entity that is read when asked, once. */
export class LazyView implements EntityView {
  readonly item_type: string
  readonly item_id: string
  readonly #source: ViewSource
  #entity: Entity | undefined
  #read = false
  #payload: JsonObject | undefined
  #loaded = false

  constructor(itemType: string, itemId: string, source: ViewSource) {
    this.item_type = itemType
    this.item_id = itemId
    this.#source = source
  }

  get entity_rev(): number | undefined {
    return this.#materialize()?.entity_rev
  }

  get seq(): number | undefined {
    return this.#materialize()?.seq
  }

  get ts(): string | undefined {
    return this.#materialize()?.ts
  }

  get agent(): string | undefined {
    return this.#materialize()?.agent
  }

  get payload(): JsonObject | undefined {
    const entity = this.#materialize()
    if (entity?.payload_ref === undefined) return entity?.payload
    if (!this.#loaded) this.#payload = this.#source.blob(entity, entity.payload_ref)
    this.#loaded = true
    return this.#payload
  }

  get unavailable(): PayloadRef | undefined {
    return this.payload === undefined ? this.#entity?.payload_ref : undefined
  }

  #materialize(): Entity | undefined {
    if (!this.#read) this.#entity = this.#source.materialize()
    this.#read = true
    return this.#entity
  }
}

import type { Entity, JsonObject, PayloadRef } from '@kim/manifest'
import type { Base } from '../tail/base.js'

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
  /** The payload of an entity whose payload stands in a blob. */
  blob(entity: Entity, ref: PayloadRef): JsonObject | undefined
  /** What speaks for an entity whose image turned out not to be what it seemed. */
  heal(base: Base, itemType: string, itemId: string): Entity | undefined
}

/** An entity that a record has changed since the open. */
export class LiveView implements EntityView {
  readonly #entity: Entity
  readonly #source: ViewSource
  #blob: JsonObject | undefined

  constructor(entity: Entity, source: ViewSource) {
    this.#entity = entity
    this.#source = source
  }

  get item_type(): string {
    return this.#entity.item_type
  }

  get item_id(): string {
    return this.#entity.item_id
  }

  get entity_rev(): number | undefined {
    return this.#entity.entity_rev
  }

  get seq(): number | undefined {
    return this.#entity.seq
  }

  get ts(): string | undefined {
    return this.#entity.ts
  }

  get agent(): string | undefined {
    return this.#entity.agent
  }

  get payload(): JsonObject | undefined {
    const { payload_ref: ref, payload } = this.#entity
    if (ref === undefined) return payload
    this.#blob ??= this.#source.blob(this.#entity, ref)
    return this.#blob
  }

  get unavailable(): PayloadRef | undefined {
    return this.payload === undefined ? this.#entity.payload_ref : undefined
  }
}

/** An entity as the cold start found it: bytes, read when asked. */
export class SlotView implements EntityView {
  readonly #base: Base
  readonly #slot: number
  readonly #source: ViewSource
  #payload: JsonObject | undefined
  /** The whole image, once more than the payload was asked for. */
  #image: LiveView | 'none' | undefined

  constructor(base: Base, slot: number, source: ViewSource) {
    this.#base = base
    this.#slot = slot
    this.#source = source
  }

  get item_type(): string {
    return this.#base.typeOf(this.#slot)
  }

  get item_id(): string {
    return this.#base.idOf(this.#slot)
  }

  get entity_rev(): number | undefined {
    return this.#read()?.entity_rev
  }

  get seq(): number | undefined {
    return this.#read()?.seq
  }

  get ts(): string | undefined {
    return this.#read()?.ts
  }

  get agent(): string | undefined {
    return this.#read()?.agent
  }

  get payload(): JsonObject | undefined {
    if (this.#image === undefined) this.#payload ??= this.#base.payload(this.#slot)
    return this.#payload ?? this.#read()?.payload
  }

  get unavailable(): PayloadRef | undefined {
    return this.#read()?.unavailable
  }

  #read(): LiveView | undefined {
    if (this.#image === undefined) {
      const entity =
        this.#base.read(this.#slot) ?? this.#source.heal(this.#base, this.item_type, this.item_id)
      this.#image = entity === undefined ? 'none' : new LiveView(entity, this.#source)
    }
    return this.#image === 'none' ? undefined : this.#image
  }
}

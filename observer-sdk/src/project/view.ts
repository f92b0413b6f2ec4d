import type { Entity, EntityTable, JsonObject, PayloadRef } from '@kim/manifest'
import { entityOf, type Image, payloadInLine } from '../tail/stored-image.js'

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
  /** The payload of an entity whose payload is in a blob. */
  blob(entity: Entity, ref: PayloadRef): JsonObject | undefined
  /** The image that takes the place of one whose line turned out not to be what it seemed. */
  heal(image: Image, itemType: string, itemId: string): Image | undefined
}

/** An entity as of the moment it was asked for; its line is parsed when a member is read that needs it. */
export class ImageView implements EntityView {
  readonly #entities: EntityTable<Image>
  readonly #slot: number
  readonly #image: Image
  readonly #source: ViewSource
  #payload: JsonObject | undefined
  #blob: JsonObject | undefined
  /** The whole image, once more than the payload was asked for. */
  #entity: Entity | 'none' | undefined

  /** The slot must hold a live entity. */
  constructor(entities: EntityTable<Image>, slot: number, source: ViewSource) {
    this.#entities = entities
    this.#slot = slot
    this.#image = entities.imageAt(slot) as Image
    this.#source = source
  }

  get item_type(): string {
    return this.#isPresent ? this.#entities.typeAt(this.#slot) : (this.#read()?.item_type ?? '')
  }

  get item_id(): string {
    return this.#isPresent ? this.#entities.idAt(this.#slot) : (this.#read()?.item_id ?? '')
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
    if (this.#entity === undefined) this.#payload ??= payloadInLine(this.#image)
    if (this.#payload !== undefined) return this.#payload
    const entity = this.#read()
    if (entity?.payload_ref === undefined) return entity?.payload
    this.#blob ??= this.#source.blob(entity, entity.payload_ref)
    return this.#blob
  }

  get unavailable(): PayloadRef | undefined {
    return this.payload === undefined ? this.#read()?.payload_ref : undefined
  }

  /** Whether the slot still holds this image: its names are there then. */
  get #isPresent(): boolean {
    return this.#entities.imageAt(this.#slot) === this.#image
  }

  #read(): Entity | undefined {
    this.#entity ??= this.#parse() ?? 'none'
    return this.#entity === 'none' ? undefined : this.#entity
  }

  #parse(): Entity | undefined {
    const [itemType, itemId] = this.#isPresent
      ? [this.#entities.typeAt(this.#slot), this.#entities.idAt(this.#slot)]
      : ['', '']
    const entity = entityOf(this.#image, itemType, itemId)
    if (entity !== undefined) return entity
    const healed = this.#source.heal(this.#image, itemType, itemId)
    return healed && entityOf(healed, itemType, itemId)
  }
}

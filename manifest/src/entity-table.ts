/**
 * The entities of a journal by type and id. The keys are bytes and columns of numbers: neither a string nor an object is
 * made for a line that another one replaces. What is kept as the image of an entity is the caller's business.
 */
import { Buffer } from 'node:buffer'
import { extendHash, finishHash, HASH_SEED, type JsonObject } from './json.js'
import type { PayloadRef, ReadRecord } from './record.js'

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

/** Type and id of a removed entity, and its last known revision. */
export type Revision = readonly [itemType: string, itemId: string, entityRev: number]

/** The entity that a record upserts. */
export function upsertedEntity(record: ReadRecord): Entity {
  const { item_type, item_id = '', agent, entity_rev, payload, payload_ref, seq, ts } = record
  return { item_type, item_id, agent, entity_rev, payload, payload_ref, seq, ts }
}

const FREE = -1
const INITIAL = 128
/** Item types that are compared by their bytes; a journal has a handful. */
const TYPES_COMPARED = 16
/** Unused key bytes that are tolerated before the keys are written together. */
const KEY_WASTE_MAX = 256 * 1024
const NO_REVISION = -1

/** The key of an entity as it is written in a line: `bytes[idStart, idEnd)` and `bytes[typeStart, typeEnd)`. */
export interface KeyBytes {
  readonly bytes: Uint8Array
  readonly idStart: number
  readonly idEnd: number
  readonly typeStart: number
  readonly typeEnd: number
  readonly hash: number
}

/** An entity of the table. */
export interface TableEntry<Image> {
  readonly item_type: string
  readonly item_id: string
  readonly entity_rev: number | undefined
  readonly image: Image
}

const encoded = (text: string): Buffer => Buffer.from(JSON.stringify(text).slice(1, -1))

/** The key of an entity by its names: the same bytes and hash as in a line of our writer. */
export class NamedKey implements KeyBytes {
  bytes: Buffer = Buffer.alloc(256)
  readonly idStart = 0
  idEnd = 0
  typeStart = 0
  typeEnd = 0
  hash = 0

  use(itemType: string, itemId: string): this {
    const room = (itemType.length + itemId.length) * 6
    if (room > this.bytes.length) this.bytes = Buffer.alloc(room * 2)
    this.#hashed = HASH_SEED
    this.idEnd = this.#put(itemId, 0)
    this.typeStart = this.idEnd
    this.typeEnd = this.#put(itemType, this.typeStart)
    this.hash = finishHash(this.#hashed)
    return this
  }

  #hashed = 0

  #put(text: string, from: number): number {
    const { bytes } = this
    let hash = this.#hashed
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      // A plain name is copied as it is; any other one has escapes, or more than one byte for a character.
      if (unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c) return this.#putEncoded(text, from)
      bytes[from + i] = unit
      hash = extendHash(hash, unit)
    }
    this.#hashed = hash
    return from + text.length
  }

  #putEncoded(text: string, from: number): number {
    const part = encoded(text)
    part.copy(this.bytes, from)
    for (const byte of part) this.#hashed = extendHash(this.#hashed, byte)
    return from + part.length
  }
}

/** Reused for every look-up by names. */
const named = new NamedKey()

/** The live entities with their images, and the last revisions of removed ones. */
export class EntityTable<Image> {
  /** Slots in use or free, below this number. */
  #slots = 0
  #free: number[] = []
  #images: (Image | undefined)[] = []
  /** The newest known `entity_rev`; negative if there is none. */
  #revision = new Float64Array(INITIAL)
  /** 1 if the newest image states that revision itself. */
  #isStated = new Uint8Array(INITIAL)
  #type = new Int32Array(INITIAL)
  #keyStart = new Int32Array(INITIAL)
  #idLength = new Int32Array(INITIAL)
  #typeLength = new Int32Array(INITIAL)
  #hash = new Int32Array(INITIAL)
  #keys = Buffer.allocUnsafeSlow(INITIAL * 32)
  #keysUsed = 0
  #keysWasted = 0
  #buckets = new Int32Array(INITIAL * 4).fill(FREE)
  #mask = INITIAL * 4 - 1
  readonly #types: string[] = []
  readonly #typeIndex = new Map<string, number>()
  readonly #typeBytes: Uint8Array[] = []
  /** How many entities are live, by index of their type. */
  readonly #live: number[] = []
  #size = 0

  /** How many entities are live. */
  get size(): number {
    return this.#size
  }

  /** How many are live, by item type; types without any are left out. */
  get counts(): Map<string, number> {
    const counts = new Map<string, number>()
    this.#types.forEach((type, index) => {
      const count = this.#live[index] as number
      if (count > 0) counts.set(type, count)
    })
    return counts
  }

  /** How many entities of a type are live. */
  countOf(itemType: string): number {
    const index = this.#typeIndex.get(itemType)
    return index === undefined ? 0 : (this.#live[index] as number)
  }

  /** The image of a live entity. */
  get(itemType: string, itemId: string): Image | undefined {
    const slot = this.slotOf(itemType, itemId)
    return slot < 0 ? undefined : this.#images[slot]
  }

  /** The last known revision of an entity, live or removed. */
  revisionOf(itemType: string, itemId: string): number | undefined {
    const slot = this.slotOf(itemType, itemId)
    return slot < 0 ? undefined : this.revisionAt(slot)
  }

  /** The image of every live entity. */
  *images(): Generator<Image> {
    for (const slot of this.slots()) yield this.#images[slot] as Image
  }

  /** Every live entity, or those of one type, or those whose id begins so. One that is added meanwhile may be left out. */
  *entries(itemType?: string, prefix = ''): Generator<TableEntry<Image>> {
    for (const slot of this.slots(itemType, prefix)) {
      yield {
        item_type: this.typeAt(slot),
        item_id: this.idAt(slot),
        entity_rev: this.statedRevisionAt(slot),
        image: this.#images[slot] as Image,
      }
    }
  }

  /** The slots of live entities, as `entries` selects them. */
  *slots(itemType?: string, prefix = ''): Generator<number> {
    const type = itemType === undefined ? -1 : this.#typeIndex.get(itemType)
    if (type === undefined || (type >= 0 && this.#live[type] === 0)) return
    const beginning = encoded(prefix)
    for (let slot = 0; slot < this.#slots; slot++) {
      if (this.#images[slot] === undefined || (type >= 0 && this.#type[slot] !== type)) continue
      if (this.#startsWith(slot, beginning)) yield slot
    }
  }

  /** The slots of all entities that the table knows, live and removed. */
  *knownSlots(): Generator<number> {
    for (let slot = 0; slot < this.#slots; slot++) if (this.#keyStart[slot] !== FREE) yield slot
  }

  /** The known revisions of removed entities. */
  *removed(): Generator<readonly [itemType: string, itemId: string, entityRev: number]> {
    for (let slot = 0; slot < this.#slots; slot++) {
      if (this.#images[slot] !== undefined || this.#keyStart[slot] === FREE) continue
      const revision = this.revisionAt(slot)
      if (revision !== undefined) yield [this.typeAt(slot), this.idAt(slot), revision]
    }
  }

  /** The slot of an entity that is live, or whose revision is known; -1 if there is none. */
  slotOf(itemType: string, itemId: string): number {
    if (!this.#typeIndex.has(itemType)) return -1
    const key = named.use(itemType, itemId)
    return this.#buckets[this.#bucketOf(key)] as number
  }

  /** As `slotOf`; an entity without a slot gets one, to be given an image or a revision at once. */
  take(itemType: string, itemId: string): number {
    return this.takeKey(named.use(itemType, itemId))
  }

  /** As `take`, by the bytes of a line. */
  takeKey(key: KeyBytes): number {
    const bucket = this.#bucketOf(key)
    const slot = this.#buckets[bucket] as number
    return slot === FREE ? this.#add(key, bucket) : slot
  }

  /** The image in a slot; undefined if its entity is not live. */
  imageAt(slot: number): Image | undefined {
    return this.#images[slot]
  }

  /** The revision that the image in a slot states itself. */
  statedRevisionAt(slot: number): number | undefined {
    return this.#isStated[slot] === 1 ? this.#revision[slot] : undefined
  }

  /** The last known revision of the entity in a slot. */
  revisionAt(slot: number): number | undefined {
    const revision = this.#revision[slot] as number
    return revision < 0 ? undefined : revision
  }

  typeAt(slot: number): string {
    return this.#types[this.#type[slot] as number] as string
  }

  idAt(slot: number): string {
    const start = this.#keyStart[slot] as number
    const id = this.#keys.toString('utf8', start, start + (this.#idLength[slot] as number))
    return id.includes('\\') ? (JSON.parse(`"${id}"`) as string) : id
  }

  /** Makes the entity of a slot live with this image. Without a revision it keeps the last known one. */
  put(slot: number, image: Image, revision: number | undefined): void {
    if (this.#images[slot] === undefined) {
      const type = this.#type[slot] as number
      this.#live[type] = (this.#live[type] as number) + 1
      this.#size += 1
    }
    this.#images[slot] = image
    this.#isStated[slot] = revision === undefined ? 0 : 1
    if (revision !== undefined) this.#revision[slot] = revision
  }

  /** The entity of a slot is not live any more; its revision is kept. */
  remove(slot: number, revision: number | undefined): void {
    if (this.#images[slot] !== undefined) {
      const type = this.#type[slot] as number
      this.#live[type] = (this.#live[type] as number) - 1
      this.#size -= 1
      this.#images[slot] = undefined
    }
    if (revision !== undefined) this.#revision[slot] = revision
  }

  /** Forgets an entity altogether; the slot will be another entity's. */
  forget(slot: number): void {
    this.remove(slot, undefined)
    this.#unlink(slot)
    this.#keysWasted += (this.#idLength[slot] as number) + (this.#typeLength[slot] as number)
    this.#keyStart[slot] = FREE
    this.#revision[slot] = NO_REVISION
    this.#free.push(slot)
    if (this.#keysWasted > KEY_WASTE_MAX && this.#keysWasted * 2 > this.#keysUsed) this.#gatherKeys()
  }

  /** How many slots there are; every slot that is taken later has this number or a higher one, or was forgotten. */
  get slotCount(): number {
    return this.#slots
  }

  /** Forgets the removed entities in slots from this number on. */
  forgetRemoved(from: number): void {
    for (let slot = from; slot < this.#slots; slot++)
      if (this.#images[slot] === undefined && this.#keyStart[slot] !== FREE) this.forget(slot)
  }

  /** The bucket that holds a key, or the free one where it belongs. */
  #bucketOf({ bytes, idStart, idEnd, typeStart, typeEnd, hash }: KeyBytes): number {
    const idLength = idEnd - idStart
    const typeLength = typeEnd - typeStart
    for (let at = hash & this.#mask; ; at = (at + 1) & this.#mask) {
      const slot = this.#buckets[at] as number
      if (slot === FREE) return at
      if (this.#hash[slot] !== hash) continue
      if (this.#idLength[slot] !== idLength || this.#typeLength[slot] !== typeLength) continue
      const key = this.#keyStart[slot] as number
      if (isSame(this.#keys, key, bytes, idStart, idLength))
        if (isSame(this.#keys, key + idLength, bytes, typeStart, typeLength)) return at
    }
  }

  #add(key: KeyBytes, bucket: number): number {
    const { bytes, idStart, idEnd, typeStart, typeEnd, hash } = key
    const slot = this.#free.pop() ?? this.#slots++
    if (slot === this.#revision.length) this.#grow()
    const idLength = idEnd - idStart
    const typeLength = typeEnd - typeStart
    this.#keyStart[slot] = this.#keysUsed
    this.#appendKey(bytes, idStart, idLength)
    this.#appendKey(bytes, typeStart, typeLength)
    this.#idLength[slot] = idLength
    this.#typeLength[slot] = typeLength
    this.#hash[slot] = hash
    this.#type[slot] = this.#typeIndexAt(bytes, typeStart, typeEnd)
    this.#revision[slot] = NO_REVISION
    this.#images[slot] = undefined
    this.#buckets[bucket] = slot
    if ((this.#slots - this.#free.length) * 2 > this.#buckets.length) this.#rehash()
    return slot
  }

  #appendKey(bytes: Uint8Array, from: number, length: number): void {
    while (this.#keysUsed + length > this.#keys.length) {
      const keys = Buffer.allocUnsafeSlow(this.#keys.length * 2)
      this.#keys.copy(keys, 0, 0, this.#keysUsed)
      this.#keys = keys
    }
    // A loop: a view for so few bytes would cost more than the copy.
    const at = this.#keysUsed
    for (let i = 0; i < length; i++) this.#keys[at + i] = bytes[from + i] as number
    this.#keysUsed += length
  }

  /** Takes a slot out of its chain of buckets, and moves those behind it closer to where they belong. */
  #unlink(slot: number): void {
    const mask = this.#mask
    let hole = (this.#hash[slot] as number) & mask
    while (this.#buckets[hole] !== slot) hole = (hole + 1) & mask
    for (let at = (hole + 1) & mask; this.#buckets[at] !== FREE; at = (at + 1) & mask) {
      const home = (this.#hash[this.#buckets[at] as number] as number) & mask
      if (((at - home) & mask) < ((at - hole) & mask)) continue
      this.#buckets[hole] = this.#buckets[at] as number
      hole = at
    }
    this.#buckets[hole] = FREE
  }

  #gatherKeys(): void {
    const keys = Buffer.allocUnsafeSlow(this.#keys.length)
    let used = 0
    for (let slot = 0; slot < this.#slots; slot++) {
      const start = this.#keyStart[slot] as number
      if (start === FREE) continue
      this.#keyStart[slot] = used
      used += this.#keys.copy(
        keys,
        used,
        start,
        start + (this.#idLength[slot] as number) + (this.#typeLength[slot] as number),
      )
    }
    this.#keys = keys
    this.#keysUsed = used
    this.#keysWasted = 0
  }

  #typeIndexAt(bytes: Uint8Array, from: number, to: number): number {
    for (let index = 0; index < this.#typeBytes.length; index++) {
      const known = this.#typeBytes[index] as Uint8Array
      if (known.length === to - from && isSame(known, 0, bytes, from, known.length)) return index
    }
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('utf8')
    const itemType = text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
    const known = this.#typeIndex.get(itemType)
    if (known !== undefined) return known
    const index = this.#types.push(itemType) - 1
    this.#live.push(0)
    this.#typeIndex.set(itemType, index)
    // A copy: the slice of a buffer would be a view of a window that is read into again.
    if (index < TYPES_COMPARED) this.#typeBytes.push(Uint8Array.from(bytes.subarray(from, to)))
    return index
  }

  #startsWith(slot: number, prefix: Uint8Array): boolean {
    if ((this.#idLength[slot] as number) < prefix.length) return false
    return isSame(prefix, 0, this.#keys, this.#keyStart[slot] as number, prefix.length)
  }

  #grow(): void {
    this.#revision = doubled(this.#revision)
    this.#isStated = doubled(this.#isStated)
    this.#type = doubled(this.#type)
    this.#keyStart = doubled(this.#keyStart)
    this.#idLength = doubled(this.#idLength)
    this.#typeLength = doubled(this.#typeLength)
    this.#hash = doubled(this.#hash)
  }

  #rehash(): void {
    this.#buckets = new Int32Array(this.#buckets.length * 4).fill(FREE)
    this.#mask = this.#buckets.length - 1
    for (let slot = 0; slot < this.#slots; slot++) {
      if (this.#keyStart[slot] === FREE) continue
      let at = (this.#hash[slot] as number) & this.#mask
      while (this.#buckets[at] !== FREE) at = (at + 1) & this.#mask
      this.#buckets[at] = slot
    }
  }
}

/** Whether `length` bytes are the same at two places. */
export function isSame(a: Uint8Array, from: number, b: Uint8Array, at: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (a[from + i] !== b[at + i]) return false
  return true
}

/** A column with the same values and room for as many more. */
export function doubled<T extends Int32Array | Float64Array | Uint8Array>(column: T): T {
  const larger = new (column.constructor as new (length: number) => T)(column.length * 2)
  larger.set(column)
  return larger
}

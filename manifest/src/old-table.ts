/**
 * A hash table from an entity's key bytes to where its newest image stands. A cold start touches it once a
 * line, so it is columns of numbers: no string and no object is made for a line that does not win.
 */
import { Buffer } from 'node:buffer'
import { extendHash, finishHash, HASH_SEED } from './json-bytes.js'

const SEPARATOR = '","item_type":"'
const FREE = -1
const TYPES_COMPARED = 16
const INITIAL = 16_384

/** The bytes under which an entity stands in the table: its id and type as our writer's frame holds them. */
export interface EntityKey {
  readonly bytes: Buffer
  readonly typeStart: number
  readonly hash: number
}

/** The key of an entity by its names; the same bytes as in a line, escapes included. */
export function entityKeyOf(itemType: string, itemId: string): EntityKey {
  const id = JSON.stringify(itemId).slice(1, -1)
  const type = JSON.stringify(itemType).slice(1, -1)
  const bytes = Buffer.from(`${id}${SEPARATOR}${type}`)
  const idEnd = Buffer.byteLength(id)
  const typeStart = idEnd + SEPARATOR.length
  return { bytes, typeStart, hash: hashKey(bytes, idEnd, typeStart) }
}

/** An id, or the beginning of one, in the bytes of a key. */
export function idBytes(itemId: string): Uint8Array {
  return Buffer.from(JSON.stringify(itemId).slice(1, -1))
}

function hashKey(bytes: Uint8Array, idEnd: number, typeStart: number): number {
  let hash = HASH_SEED
  for (let at = 0; at < bytes.length; at++) {
    if (at < idEnd || at >= typeStart) hash = extendHash(hash, bytes[at] as number)
  }
  return finishHash(hash)
}

/** Slots by key. What an image is, is the caller's business: two numbers and a revision are kept for it. */
export class OldEntityTable {
  /** How many slots there are. */
  count = 0
  /** In which scan a slot was last claimed; 0 is none. */
  claim: Int32Array = new Int32Array(INITIAL)
  /** Where the image's bytes stand: number of the piece of memory, place and length in it. */
  piece: Int32Array = new Int32Array(INITIAL)
  offset: Int32Array = new Int32Array(INITIAL)
  length: Int32Array = new Int32Array(INITIAL)
  /** Where in those bytes the payload begins, and its length; 0 where only parsing can tell. */
  payloadOffset: Int32Array = new Int32Array(INITIAL)
  payloadLength: Int32Array = new Int32Array(INITIAL)
  /** The image's `entity_rev`, negative if it has none. */
  revision: Float64Array = new Float64Array(INITIAL)
  /** 1 while the newest image is a live one. */
  live: Uint8Array = new Uint8Array(INITIAL)
  /** Index of the slot's item type. */
  type: Int32Array = new Int32Array(INITIAL)
  /** Every item type met, by index. */
  readonly types: string[] = []

  #keyStart: Int32Array = new Int32Array(INITIAL)
  #keyLength: Int32Array = new Int32Array(INITIAL)
  #idLength: Int32Array = new Int32Array(INITIAL)
  #hash: Int32Array = new Int32Array(INITIAL)
  #keys = Buffer.allocUnsafeSlow(INITIAL * 48)
  #keysUsed = 0
  #buckets = new Int32Array(INITIAL * 2).fill(FREE)
  #mask = INITIAL * 2 - 1
  readonly #typeIndex = new Map<string, number>()
  /** The bytes of the first few types: a journal has a handful, and each new entity asks for its own. */
  readonly #typeBytes: Uint8Array[] = []

  /** The slot of a key, made if there is none. */
  take(bytes: Uint8Array, start: number, typeStart: number, end: number, hash: number): number {
    const at = this.#find(bytes, start, end, hash)
    const slot = this.#buckets[at] as number
    return slot === FREE ? this.#add(bytes, start, typeStart, end, hash, at) : slot
  }

  /** The slot of a key, or -1. */
  find(key: EntityKey): number {
    return this.#buckets[this.#find(key.bytes, 0, key.bytes.length, key.hash)] as number
  }

  /** The item type that a slot stands for. */
  typeOf(slot: number): string {
    return this.types[this.type[slot] as number] as string
  }

  /** The item id that a slot stands for. */
  idOf(slot: number): string {
    const start = this.#keyStart[slot] as number
    const id = this.#keys.toString('utf8', start, start + (this.#idLength[slot] as number))
    return id.includes('\\') ? (JSON.parse(`"${id}"`) as string) : id
  }

  /** Whether an item id begins so; the bytes are those of `idBytes`. */
  hasPrefix(slot: number, prefix: Uint8Array): boolean {
    if ((this.#idLength[slot] as number) < prefix.length) return false
    const start = this.#keyStart[slot] as number
    for (let at = 0; at < prefix.length; at++) if (this.#keys[start + at] !== prefix[at]) return false
    return true
  }

  /** The index of an item type, or -1 if none of its entities was met. */
  typeIndexOf(itemType: string): number {
    return this.#typeIndex.get(itemType) ?? -1
  }

  #find(bytes: Uint8Array, start: number, end: number, hash: number): number {
    const length = end - start
    const keys = this.#keys
    for (let at = hash & this.#mask; ; at = (at + 1) & this.#mask) {
      const slot = this.#buckets[at] as number
      if (slot === FREE) return at
      if (this.#hash[slot] !== hash || this.#keyLength[slot] !== length) continue
      const key = this.#keyStart[slot] as number
      let i = 0
      while (i < length && keys[key + i] === bytes[start + i]) i += 1
      if (i === length) return at
    }
  }

  #add(bytes: Uint8Array, start: number, typeStart: number, end: number, hash: number, at: number): number {
    const slot = this.count
    if (slot === this.claim.length) this.#grow()
    const length = end - start
    while (this.#keysUsed + length > this.#keys.length) {
      const keys = Buffer.allocUnsafeSlow(this.#keys.length * 2)
      this.#keys.copy(keys)
      this.#keys = keys
    }
    // A loop: a view for so few bytes would cost more than the copy.
    for (let i = 0; i < length; i++) this.#keys[this.#keysUsed + i] = bytes[start + i] as number
    this.#keyStart[slot] = this.#keysUsed
    this.#keyLength[slot] = length
    this.#idLength[slot] = typeStart - start - SEPARATOR.length
    this.#keysUsed += length
    this.#hash[slot] = hash
    this.type[slot] = this.#typeAt(bytes, typeStart, end)
    this.#buckets[at] = slot
    this.count += 1
    if (this.count * 2 > this.#buckets.length) this.#rehash()
    return slot
  }

  /** The index of the item type in `bytes[from, to)`. */
  #typeAt(bytes: Uint8Array, from: number, to: number): number {
    for (let index = 0; index < this.#typeBytes.length; index++) {
      if (isAt(this.#typeBytes[index] as Uint8Array, bytes, from, to)) return index
    }
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('utf8')
    const itemType = text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text
    const known = this.#typeIndex.get(itemType)
    if (known !== undefined) return known
    const index = this.types.push(itemType) - 1
    this.#typeIndex.set(itemType, index)
    // A copy: the slice of a buffer would be a view of a window that is read into again.
    if (index < TYPES_COMPARED) this.#typeBytes.push(Uint8Array.from(bytes.subarray(from, to)))
    return index
  }

  #grow(): void {
    this.claim = twice(this.claim)
    this.piece = twice(this.piece)
    this.offset = twice(this.offset)
    this.length = twice(this.length)
    this.type = twice(this.type)
    this.#keyStart = twice(this.#keyStart)
    this.#keyLength = twice(this.#keyLength)
    this.#idLength = twice(this.#idLength)
    this.#hash = twice(this.#hash)
    this.payloadOffset = twice(this.payloadOffset)
    this.payloadLength = twice(this.payloadLength)
    this.revision = twice(this.revision)
    this.live = twice(this.live)
  }

  #rehash(): void {
    this.#buckets = new Int32Array(this.#buckets.length * 4).fill(FREE)
    this.#mask = this.#buckets.length - 1
    for (let slot = 0; slot < this.count; slot++) {
      let at = (this.#hash[slot] as number) & this.#mask
      while (this.#buckets[at] !== FREE) at = (at + 1) & this.#mask
      this.#buckets[at] = slot
    }
  }
}

function isAt(expected: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (expected.length !== to - from) return false
  for (let i = 0; i < expected.length; i++) if (bytes[from + i] !== expected[i]) return false
  return true
}

function twice<T extends Int32Array | Float64Array | Uint8Array>(column: T): T {
  const larger = new (column.constructor as new (length: number) => T)(column.length * 2)
  larger.set(column)
  return larger
}

import type { Buffer } from 'node:buffer'
import { parseCheckpointEntity } from '@kim/manifest'
import { entityKeyOf } from './entity-table.js'
import {
  BACKSLASH,
  extendHash,
  finishHash,
  HASH_SEED,
  integerAt,
  integerEnd,
  literal,
  plainMember,
  QUOTE,
  skip,
} from './json-bytes.js'

const AGENT = literal('"agent":"')
const REVISION = literal('"entity_rev":')
const ITEM_ID = literal('"item_id":"')
const ITEM_TYPE = literal(',"item_type":"')
const COMMA = 0x2c

/** The key of a checkpoint's entity line, found without parsing it. */
export class EntityLineMatcher {
  bytes: Uint8Array = new Uint8Array()
  keyStart = 0
  typeStart = 0
  keyEnd = 0
  hash = 0
  /** Negative if the line has none. */
  revision = -1

  /** False if the line in `bytes[from, to)` is no entity. What its payload holds is not looked at. */
  match(bytes: Buffer, from: number, to: number): boolean {
    return this.#matchFrame(bytes, from, to) || this.#parse(bytes, from, to)
  }

  #matchFrame(bytes: Buffer, from: number, to: number): boolean {
    let at = from + 1
    const agentEnd = plainMember(bytes, at, AGENT)
    if (agentEnd > 0) at = agentEnd + 1
    this.revision = -1
    const digits = skip(bytes, at, REVISION)
    if (digits > 0) {
      const end = integerEnd(bytes, digits)
      if (end < 0) return false
      this.revision = integerAt(bytes, digits, end)
      at = end + 1
    }
    this.keyStart = skip(bytes, at, ITEM_ID)
    if (this.keyStart < 0) return false
    const idEnd = this.#hashString(bytes, this.keyStart, HASH_SEED)
    this.typeStart = idEnd < 0 ? -1 : skip(bytes, idEnd + 1, ITEM_TYPE)
    if (this.typeStart < 0) return false
    this.keyEnd = this.#hashString(bytes, this.typeStart, this.hash)
    this.hash = finishHash(this.hash)
    this.bytes = bytes
    return this.keyEnd > 0 && this.keyEnd < to && bytes[this.keyEnd + 1] === COMMA
  }

  #hashString(bytes: Uint8Array, from: number, seed: number): number {
    let hash = seed
    for (let at = from; ; at++) {
      const byte = bytes[at]
      if (byte === undefined || byte === BACKSLASH || byte < 0x20) return -1
      if (byte === QUOTE) {
        this.hash = hash
        return at
      }
      hash = extendHash(hash, byte)
    }
  }

  #parse(bytes: Buffer, from: number, to: number): boolean {
    const entity = parseCheckpointEntity(bytes.toString('utf8', from, to))
    if (entity === undefined) return false
    const key = entityKeyOf(entity.item_type, entity.item_id)
    this.bytes = key.bytes
    this.keyStart = 0
    this.typeStart = key.typeStart
    this.keyEnd = key.bytes.length
    this.hash = key.hash
    this.revision = entity.entity_rev ?? -1
    return true
  }
}

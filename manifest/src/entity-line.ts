import type { Buffer } from 'node:buffer'
import { parseCheckpointEntity } from './checkpoint.js'
import { type KeyBytes, NamedKey } from './entity-table.js'
import {
  finishHash,
  HASH_SEED,
  integerEnd,
  JsonBytes,
  keyEnd,
  literal,
  plainMember,
  skip,
} from './json-bytes.js'

const AGENT = literal('"agent":"')
const REVISION = literal('"entity_rev":')
const ITEM_ID = literal('"item_id":"')
const ITEM_TYPE = literal(',"item_type":"')
const COMMA = 0x2c

/** The key of a checkpoint's entity line, found without parsing it. */
export class EntityLineMatcher implements KeyBytes {
  bytes: Uint8Array = new Uint8Array()
  idStart = 0
  idEnd = 0
  typeStart = 0
  typeEnd = 0
  hash = 0
  /** Negative if the line has none. */
  revision = -1
  readonly #json = new JsonBytes()

  /** False if the line in `bytes[from, to)` is no entity. What its payload holds is not looked at. */
  match(bytes: Buffer, from: number, to: number): boolean {
    return this.#matchFrame(bytes, from, to) || this.#parse(bytes, from, to)
  }

  #matchFrame(bytes: Buffer, from: number, to: number): boolean {
    const json = this.#json
    json.use(bytes)
    let at = from + 1
    const agentEnd = plainMember(json, at, AGENT)
    if (agentEnd > 0) at = agentEnd + 1
    this.revision = -1
    const digits = skip(json, at, REVISION)
    if (digits > 0) {
      const end = integerEnd(json, digits)
      if (end < 0) return false
      this.revision = json.integer
      at = end + 1
    }
    json.hash = HASH_SEED
    this.idStart = skip(json, at, ITEM_ID)
    this.idEnd = this.idStart < 0 ? -1 : keyEnd(json, this.idStart)
    this.typeStart = this.idEnd < 0 ? -1 : skip(json, this.idEnd + 1, ITEM_TYPE)
    if (this.typeStart < 0) return false
    this.typeEnd = keyEnd(json, this.typeStart)
    this.hash = finishHash(json.hash)
    this.bytes = bytes
    return this.typeEnd > 0 && this.typeEnd < to && bytes[this.typeEnd + 1] === COMMA
  }

  #parse(bytes: Buffer, from: number, to: number): boolean {
    const entity = parseCheckpointEntity(bytes.toString('utf8', from, to))
    if (entity === undefined) return false
    const key = new NamedKey().use(entity.item_type, entity.item_id)
    this.bytes = key.bytes
    this.idStart = key.idStart
    this.idEnd = key.idEnd
    this.typeStart = key.typeStart
    this.typeEnd = key.typeEnd
    this.hash = key.hash
    this.revision = entity.entity_rev ?? -1
    return true
  }
}

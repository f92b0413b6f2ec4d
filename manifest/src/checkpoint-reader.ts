/** Reads a checkpoint document as its bytes come, in bounded memory: header, entity lines, footer and digest. */
import { Buffer, isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import {
  type CheckpointHeader,
  checkpointFooter,
  endsCheckpointHeader,
  parseCheckpointEntity,
  parseCheckpointHeader,
} from './checkpoint.js'
import { type Entity, type KeyBytes, NamedKey } from './entity-table.js'
import {
  bufferOf,
  COMMA,
  finishHash,
  HASH_SEED,
  integerEnd,
  JsonBytes,
  keyEnd,
  literal,
  plainMember,
  skip,
} from './json.js'
import { limits } from './limits.js'

const LINE_FEED = 0x0a

/** The line of one entity, without its comma. The same object describes one line after the other. */
export class CheckpointLine {
  offset = 0
  length = 0
  #bytes: Buffer = Buffer.alloc(0)
  #from = 0

  use(offset: number, bytes: Buffer, from: number, to: number): this {
    this.offset = offset
    this.length = (bytes[to - 1] === COMMA ? to - 1 : to) - from
    this.#bytes = bytes
    this.#from = from
    return this
  }

  get text(): string {
    return this.#bytes.toString('utf8', this.#from, this.#from + this.length)
  }

  /** What the line says; undefined if it is no entity. */
  entity(): Entity | undefined {
    return parseCheckpointEntity(this.text)
  }
}

/** No text of a JavaScript engine is much longer, and no header comes near. */
const HEADER_CHARACTERS_MAX = 2 ** 28

const FOOTER = Buffer.from(checkpointFooter)

/** Follows the lines of a checkpoint document without keeping them. */
export class CheckpointReader {
  readonly #onEntity: ((line: CheckpointLine) => void) | undefined
  readonly #framer = new LineFramer()
  readonly #line = new CheckpointLine()
  readonly #hash = createHash('sha256')
  #bytes = 0
  #entities = 0
  #opening = ''
  #fault: string | undefined
  #isFooted = false
  #header: CheckpointHeader | undefined

  /** `onEntity` receives each entity line in file order, once the header is known. */
  constructor(onEntity?: (line: CheckpointLine) => void) {
    this.#onEntity = onEntity
  }

  /** The header, once it is read and valid. */
  get header(): CheckpointHeader | undefined {
    return this.#header
  }

  /** How many bytes the document has so far. */
  get bytes(): number {
    return this.#bytes
  }

  /** The SHA-256 of all bytes so far. */
  get sha256(): string {
    return this.#hash.copy().digest('hex')
  }

  /** Takes the next bytes; false once the document has a fault. */
  push(chunk: Uint8Array): boolean {
    this.#hash.update(chunk)
    this.#bytes += chunk.length
    const buffer = bufferOf(chunk)
    // One look at all lines of the chunk is cheaper than one at each.
    const first = this.#framer.pending > 0 ? buffer.indexOf(LINE_FEED) + 1 : 0
    const isText = isUtf8(buffer.subarray(first, buffer.lastIndexOf(LINE_FEED) + 1))
    this.#framer.use(buffer)
    while (this.#framer.next()) {
      const { offset, bytes, from, to } = this.#framer
      if (bytes === undefined) this.#fault ??= 'a line is too long'
      else if (!(bytes === buffer ? isText : isUtf8(bytes.subarray(from, to))))
        this.#fault ??= 'it is not UTF-8'
      else this.#take(offset, bytes, from, to)
    }
    return this.#fault === undefined
  }

  /** What is wrong with the whole document, if anything is. Ask once all bytes are read. */
  fault(headSeq: number): string | undefined {
    if (this.#fault !== undefined) return this.#fault
    if (this.#header === undefined) return 'no header'
    if (this.#header.head_seq !== headSeq)
      return `its header names seq ${this.#header.head_seq}, but its file name ${headSeq}`
    if (!this.#isFooted || this.#framer.pending > 0) return 'it does not end like a checkpoint'
    if (this.#entities === this.#header.entity_count) return undefined
    return `it has ${this.#entities} entities, but its header says ${this.#header.entity_count}`
  }

  #take(offset: number, bytes: Buffer, from: number, to: number): void {
    if (this.#isFooted) this.#fault ??= 'it does not end like a checkpoint'
    else if (this.#header === undefined) {
      if (this.#fault === undefined) this.#begin(bytes.toString('utf8', from, to))
    } else if (to - from === FOOTER.length && FOOTER.compare(bytes, from, to) === 0) this.#isFooted = true
    else {
      this.#entities += 1
      this.#onEntity?.(this.#line.use(offset, bytes, from, to))
    }
  }

  /** The lines up to the one that ends the header are one text. */
  #begin(line: string): void {
    this.#opening += line
    if (this.#opening.length > HEADER_CHARACTERS_MAX) this.#fault = 'its header is too long'
    if (!endsCheckpointHeader(line)) return
    const parsed = parseCheckpointHeader(this.#opening)
    this.#opening = ''
    if (parsed.ok) this.#header = parsed.header
    else this.#fault = `header: ${parsed.fault}`
  }
}

/** Cuts the bytes of one file, as they come, into lines at 0x0A: `use` a chunk, then call `next` until it is false. */
export class LineFramer {
  /** The line that `next` found: `bytes[from, to)` without its `\n`, and where in the file it begins. */
  offset = 0
  from = 0
  to = 0
  /** The chunk, if the line is all in it. Absent if the line is too long to be held. */
  bytes: Buffer | undefined
  #chunk: Buffer = Buffer.alloc(0)
  #at = 0
  #end = 0
  #held: Buffer[] = []
  #pending = 0

  /** How many bytes follow the last `\n`. */
  get pending(): number {
    return this.#pending
  }

  /** Takes the next bytes. They must not change until `next` has returned false. */
  use(chunk: Buffer): void {
    this.#chunk = chunk
    this.#at = 0
  }

  next(): boolean {
    const chunk = this.#chunk
    const from = this.#at
    const to = chunk.indexOf(LINE_FEED, from)
    if (to === -1) {
      this.#hold(chunk.subarray(from))
      return false
    }
    const length = this.#pending + to - from
    this.offset = this.#end
    this.#end += length + 1
    this.#at = to + 1
    const isHeld = length <= limits.lineReadBytesMax
    if (this.#pending === 0) {
      this.bytes = isHeld ? chunk : undefined
      this.from = from
      this.to = to
      return true
    }
    this.bytes = isHeld ? Buffer.concat([...this.#held, chunk.subarray(from, to)]) : undefined
    this.from = 0
    this.to = length
    this.#held = []
    this.#pending = 0
    return true
  }

  #hold(rest: Buffer): void {
    this.#pending += rest.length
    if (this.#pending > limits.lineReadBytesMax) this.#held = []
    else if (rest.length > 0) this.#held.push(Buffer.from(rest))
  }
}

const AGENT = literal('"agent":"')
const REVISION = literal('"entity_rev":')
const ITEM_ID = literal('"item_id":"')
const ITEM_TYPE = literal(',"item_type":"')

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

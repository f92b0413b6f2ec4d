/** Reads a checkpoint document as its bytes come, in bounded memory: header, entity lines, footer and digest. */
import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import {
  type CheckpointHeader,
  type CheckpointRef,
  checkpointFooter,
  endsCheckpointHeader,
  parseCheckpointEntity,
  parseCheckpointHeader,
  parseCheckpointRef,
} from './checkpoint.js'
import { type Entity, type KeyBytes, NamedKey } from './entity-table.js'
import {
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
import type { LineFrame } from './line-frame.js'
import type { ReadRecord } from './record.js'
import { type RestartListener, recordOf, type SegmentLine } from './segment-reader.js'

/** The line of one entity, without its comma. */
export interface CheckpointLine {
  readonly offset: number
  readonly length: number
  readonly text: string
  /** What the line says; undefined if it is no entity. */
  entity(): Entity | undefined
}

/** No text of a JavaScript engine is much longer, and no header comes near. */
const HEADER_CHARACTERS_MAX = 2 ** 28

/** Follows the lines of a checkpoint document without keeping them. */
export class CheckpointReader {
  readonly #onEntity: ((line: CheckpointLine) => void) | undefined
  readonly #framer = new LineFramer()
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

  /** How many entity lines it has so far. */
  get entities(): number {
    return this.#entities
  }

  /** The SHA-256 of all bytes so far. */
  get sha256(): string {
    return this.#hash.copy().digest('hex')
  }

  /** Takes the next bytes; false once the document has a fault. */
  push(chunk: Uint8Array): boolean {
    this.#hash.update(chunk)
    this.#bytes += chunk.length
    for (const { offset, length, bytes } of this.#framer.push(chunk)) {
      if (bytes === undefined) this.#fault ??= 'a line is too long'
      else this.#line(textOf(bytes), offset, length)
    }
    return this.#fault === undefined
  }

  /** What is wrong with the whole document, if anything is. Ask once all bytes are read. */
  fault(headSeq: number): string | undefined {
    if (this.#fault !== undefined) return this.#fault
    if (this.#header === undefined) return 'no header'
    if (this.#header.head_seq !== headSeq) return `its head is ${this.#header.head_seq}`
    if (!this.#isFooted || this.#framer.pending > 0) return 'it does not end like a checkpoint'
    if (this.#entities === this.#header.entity_count) return undefined
    return `${this.#entities} entities, ${this.#header.entity_count} announced`
  }

  #line(text: string, offset: number, length: number): void {
    if (this.#isFooted) this.#fault ??= 'it does not end like a checkpoint'
    else if (this.#header === undefined) {
      if (this.#fault === undefined) this.#begin(text)
    } else if (text === checkpointFooter) this.#isFooted = true
    else {
      this.#entities += 1
      this.#entity(text, offset, length)
    }
  }

  #entity(line: string, offset: number, length: number): void {
    if (this.#onEntity === undefined) return
    const hasComma = line.endsWith(',')
    const text = hasComma ? line.slice(0, -1) : line
    const entity = (): Entity | undefined => parseCheckpointEntity(text)
    this.#onEntity({ offset, length: hasComma ? length - 1 : length, text, entity })
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

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
}

/** What a `checkpoint_ref` says, and the seq of its record. */
export interface FoundRef {
  readonly ref: CheckpointRef
  readonly seq: number
}

/** Collects what the `checkpoint_ref` records of a segment say: the listener of its reader. */
export class CheckpointRefs implements RestartListener {
  found: FoundRef[] = []

  framed(frame: LineFrame): void {
    // Every verb of the ref's length is rare enough to be parsed.
    if (frame.actionEnd - frame.actionStart !== 'checkpoint_ref'.length) return
    const record = recordOf(frame.line)
    if (record !== undefined) this.#take(record)
  }

  released({ record }: SegmentLine): void {
    this.#take(record)
  }

  restart(): void {
    this.found = []
  }

  #take({ action, payload, seq }: ReadRecord): void {
    if (action !== 'checkpoint_ref') return
    const ref = parseCheckpointRef(payload)
    if (ref !== undefined) this.found.push({ ref, seq })
  }
}

/** A terminated line of the document. */
export interface FramedLine {
  readonly offset: number
  /** Bytes without the `\n`. */
  readonly length: number
  /** Absent if the line is too long to be held; otherwise valid as long as the chunk is. */
  readonly bytes: Uint8Array | undefined
}

/** Cuts the bytes of one file, as they come, into lines at 0x0A. */
export class LineFramer {
  #lineStart = 0
  #held: Uint8Array[] = []
  #pending = 0

  /** How many bytes follow the last `\n`. */
  get pending(): number {
    return this.#pending
  }

  /** The lines that this chunk completes. */
  push(chunk: Uint8Array): FramedLine[] {
    const lines: FramedLine[] = []
    let from = 0
    for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, from)) {
      lines.push(this.#complete(chunk.subarray(from, at)))
      from = at + 1
    }
    if (from < chunk.length) this.#hold(chunk.subarray(from))
    return lines
  }

  #complete(tail: Uint8Array): FramedLine {
    const offset = this.#lineStart
    const length = this.#pending + tail.length
    const held = this.#held
    this.#lineStart += length + 1
    this.#held = []
    this.#pending = 0
    if (length > limits.lineReadBytesMax) return { offset, length, bytes: undefined }
    return { offset, length, bytes: held.length === 0 ? tail : Buffer.concat([...held, tail]) }
  }

  #hold(rest: Uint8Array): void {
    this.#pending += rest.length
    if (this.#pending > limits.lineReadBytesMax) this.#held = []
    else this.#held.push(Uint8Array.from(rest))
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

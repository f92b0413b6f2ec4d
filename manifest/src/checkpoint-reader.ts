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
import type { Entity } from './entity.js'
import type { ReadRecord } from './envelope.js'
import type { LineFrame } from './line-frame.js'
import { LineFramer } from './lines.js'
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

const COMMA = ','

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
    for (const line of this.#framer.push(chunk)) {
      if (line.kind === 'too_long') this.#fault ??= 'a line is too long'
      else this.#line(textOf(line.bytes), line.offset, line.bytes.length)
    }
    return this.#fault === undefined
  }

  /** What is wrong with the whole document, if anything is. Ask once all bytes are read. */
  fault(headSeq: number): string | undefined {
    if (this.#fault !== undefined) return this.#fault
    if (this.#header === undefined) return 'no header'
    if (this.#header.head_seq !== headSeq) return `its head is ${this.#header.head_seq}`
    if (!this.#isFooted || this.#framer.pending.length > 0) return 'it does not end like a checkpoint'
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
    const hasComma = line.endsWith(COMMA)
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

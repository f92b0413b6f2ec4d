import { createHash } from 'node:crypto'
import {
  type CheckpointHeader,
  checkpointFooter,
  endsCheckpointHeader,
  LineFramer,
  parseCheckpointHeader,
} from '@kim/manifest'
import type { CheckpointEntry } from '../store/listing.js'
import type { Outcome } from '../store/outcome.js'
import { found } from '../store/outcome.js'
import { openCheckpoint } from '../store/store-files.js'
import type { FileDigest } from './file-digest.js'
import type { Pace } from './pace.js'

/** No text of a JavaScript engine is much longer, and no header comes near. */
const headerCharactersMax = 2 ** 28

/** What a checkpoint file says and whether it hangs together; its entities are not parsed. */
export interface CheckpointFile extends FileDigest {
  readonly name: string
  /** The number in its name. */
  readonly headSeq: number
  readonly header: CheckpointHeader | undefined
  /** What is wrong with the document, if anything is. */
  readonly fault: string | undefined
}

/** Reads a checkpoint file once, in bounded memory. */
export async function surveyCheckpoint(
  eventsDir: string,
  { headSeq, name }: CheckpointEntry,
  pace: Pace,
): Promise<Outcome<CheckpointFile>> {
  const opened = openCheckpoint(eventsDir, headSeq)
  if (!opened.ok) return opened
  const content = opened.value
  try {
    const hash = createHash('sha256')
    const lines = new DocumentLines(headSeq)
    let bytes = 0
    for (const chunk of content.chunks()) {
      hash.update(chunk)
      bytes += chunk.length
      lines.push(chunk)
      pace.advance(chunk.length)
      await pace.turn(chunk.length)
    }
    if (content.failure !== undefined) return content.failure
    const { header } = lines
    return found({ name, headSeq, header, fault: lines.fault(), bytes, sha256: hash.digest('hex') })
  } finally {
    content.close()
  }
}

/** Follows the lines of a checkpoint document without keeping them. */
class DocumentLines {
  readonly #framer = new LineFramer()
  readonly #headSeq: number
  #entities = 0
  #opening = ''
  #fault: string | undefined
  #endsWell = false
  #header: CheckpointHeader | undefined

  constructor(headSeq: number) {
    this.#headSeq = headSeq
  }

  get header(): CheckpointHeader | undefined {
    return this.#header
  }

  push(chunk: Uint8Array): void {
    for (const line of this.#framer.push(chunk)) {
      if (line.kind === 'too_long') this.#fault ??= 'a line is too long'
      else if (this.#header === undefined && this.#fault === undefined) this.#begin(textOf(line.bytes))
      else {
        if (this.#endsWell) this.#fault ??= 'it does not end like a checkpoint'
        this.#endsWell = line.bytes.length === 2 && textOf(line.bytes) === checkpointFooter
        if (!this.#endsWell) this.#entities += 1
      }
    }
  }

  fault(): string | undefined {
    if (this.#fault !== undefined) return this.#fault
    if (this.#header === undefined) return 'no header'
    if (!this.#endsWell || this.#framer.pending.length > 0) return 'it does not end like a checkpoint'
    const entities = this.#entities
    if (entities === this.#header.entity_count) return undefined
    return `${entities} entities, ${this.#header.entity_count} announced`
  }

  /** The lines up to the one that ends the header are one text. */
  #begin(line: string): void {
    this.#opening += line
    if (this.#opening.length > headerCharactersMax) this.#fault = 'its header is too long'
    if (!endsCheckpointHeader(line)) return
    const parsed = parseCheckpointHeader(this.#opening)
    this.#opening = ''
    if (!parsed.ok) this.#fault = `header: ${parsed.fault}`
    else {
      this.#header = parsed.header
      if (parsed.header.head_seq !== this.#headSeq) this.#fault = `its head is ${parsed.header.head_seq}`
    }
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
}

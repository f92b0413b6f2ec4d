/** The images of entities as an observer keeps them: the bytes of their lines, parsed when they are read. */
import { Buffer } from 'node:buffer'
import {
  doubled,
  type Entity,
  type EntityTable,
  type Fold,
  type JsonObject,
  type LineFrame,
  parseCheckpointEntity,
  parsePayload,
  recordOf,
  upsertedEntity,
} from '@kim/manifest'
import type { SegmentSet } from './segment-set.js'

/** Where something looked right and was not: every line of such a segment is parsed, such a checkpoint left out. */
export type Flaw = { readonly segment: number } | { readonly checkpoint: number }

/**
 * What an observer keeps of a live entity: the bytes of its newest line as a string of one byte a character, the smallest way to
 * keep them, or the number of a line that a cold start did not parse.
 */
export type Image = string | number

/** The cells of a line: an object for each of so many lines would cost a cold start more than reading them. */
const FILE = 0
const OFFSET = 1
const LENGTH = 2
const PAYLOAD_AT = 3
const PAYLOAD_LENGTH = 4
const CELLS = 5

/** A file with lines. */
class LineFile {
  /** Number of the segment, or below zero the head of the checkpoint. */
  readonly origin: number
  /** Another file under that name may have other lines at these places. */
  readonly identity: string
  /** What its lines are in, once that is loaded. */
  bytes: Buffer | undefined
  /** The lines to load, how many bytes they have, and where the last of them ends. */
  readonly wanted: number[] = []
  wantedBytes = 0
  wantedTo = 0

  constructor(origin: number, identity: string, bytes?: Buffer) {
    this.origin = origin
    this.identity = identity
    this.bytes = bytes
  }

  /** Its lines are in these bytes from now on. */
  hold(bytes: Buffer): void {
    this.bytes = bytes
    this.wanted.length = 0
  }
}

/**
 * The lines that a cold start found without parsing them: of segments, and entity lines of a checkpoint. While a segment is
 * scanned only their places are known; their bytes are loaded once the newest line of each entity is known.
 */
export class StoredLines {
  /**
   * For each line: the index of its file; where it begins in that file, or in its bytes once they are loaded, and its length; where
   * in the line its payload begins, and its length, 0 where only parsing can tell.
   */
  #cells = new Float64Array(128 * CELLS)
  #count = 0
  readonly #files: LineFile[] = []

  /** The lines that are added next are of this segment. */
  beginSegment(number: number, identity: string): void {
    this.#files.push(new LineFile(number, identity))
  }

  /** The lines that are added next are of this checkpoint. */
  beginCheckpoint(headSeq: number, content: Buffer): void {
    this.#files.push(new LineFile(-headSeq, '', content))
  }

  /** A line of a segment, in place of `before`. */
  addFrame(offset: number, frame: LineFrame, before: Image | undefined): number {
    const line = this.#add(offset, frame.to - frame.from, typeof before === 'number' ? before : this.#count++)
    const at = line * CELLS
    this.#cells[at + PAYLOAD_AT] = frame.payloadStart - frame.from
    this.#cells[at + PAYLOAD_LENGTH] = frame.hasPayload ? frame.payloadEnd - frame.payloadStart : 0
    return line
  }

  /** An entity line of a checkpoint. */
  addEntity(from: number, to: number): number {
    return this.#add(from, to - from, this.#count++)
  }

  /** The entity of an image; undefined if its line is not what its frame promised. Without names it may be any. */
  entityOf(image: Image, itemType?: string, itemId?: string): Entity | undefined {
    const line = typeof image === 'number' ? this.#bytesOf(image) : bytesOf(image)
    if (line === undefined) return undefined
    if (typeof image !== 'number' || this.#fileOf(image).origin > 0) {
      const record = recordOf(line)
      return record && upsertedEntity(record)
    }
    const entity = parseCheckpointEntity(line.toString('utf8'))
    const isSame = itemType === undefined || (entity?.item_type === itemType && entity.item_id === itemId)
    return isSame ? entity : undefined
  }

  /**
   * The payload of an image alone; undefined if only `entityOf` can tell. The rest of a framed line was checked when it
   * was matched, so the line is what it seemed if its payload is JSON.
   */
  payloadOf(image: Image): JsonObject | undefined {
    if (typeof image !== 'number') return undefined
    const { bytes } = this.#fileOf(image)
    const cells = this.#cells
    const at = image * CELLS
    const length = cells[at + PAYLOAD_LENGTH] as number
    if (bytes === undefined || length === 0) return undefined
    const from = (cells[at + OFFSET] as number) + (cells[at + PAYLOAD_AT] as number)
    return parsePayload(bytes.toString('utf8', from, from + length))
  }

  /** What not to trust unparsed where the entity of an image is none; undefined if it is one. */
  flawOf(image: Image, itemType: string, itemId: string): Flaw | undefined {
    if (typeof image !== 'number' || this.entityOf(image, itemType, itemId) !== undefined) return undefined
    const { origin } = this.#fileOf(image)
    return origin < 0 ? { checkpoint: -origin } : { segment: origin }
  }

  /**
   * Loads the lines that these entities have, one file after the other: files may vanish, so bytes are kept. False if a segment is
   * no longer there as it was scanned.
   */
  *load(entities: EntityTable<Image>, history: SegmentSet): Generator<void, boolean> {
    for (const slot of entities.slots()) {
      const line = entities.imageAt(slot)
      if (typeof line === 'number') this.#want(line)
    }
    for (const file of this.#files) {
      // No line of it is the newest of its entity.
      if (file.wantedBytes === 0) file.bytes = undefined
      if (file.wantedBytes === 0 || file.bytes !== undefined) continue
      const inMemory = history.inMemory(file.identity)
      if (inMemory !== undefined && this.#keep(file, inMemory)) continue
      const isLoaded = history.read(file.origin, content => {
        if (content.identity !== file.identity) return false
        if (file.wantedBytes * SPARSE >= content.bytes || content.candidate.gzip)
          return this.#keep(file, content.read(0, content.bytes))
        return this.#gather(file, (kept, at, offset, length) => {
          return content.readInto(kept, at, length, offset) === length
        })
      })
      if (isLoaded !== true) return false
      yield
    }
    return true
  }

  #want(line: number): void {
    const file = this.#fileOf(line)
    const length = this.#cells[line * CELLS + LENGTH] as number
    if (file.bytes === undefined) file.wanted.push(line)
    file.wantedBytes += length
    file.wantedTo = Math.max(file.wantedTo, (this.#cells[line * CELLS + OFFSET] as number) + length)
  }

  /** Keeps all of a file where nearly all of it is wanted, else a copy of what is; false if not all of the lines are in it. */
  #keep(file: LineFile, whole: Buffer): boolean {
    if (file.wantedTo > whole.length) return false
    // Its memory may be that of a longer segment before it.
    if (file.wantedBytes * 6 <= Math.max(whole.length, whole.buffer.byteLength / 2) * 5)
      return this.#gather(file, (kept, at, offset, length) => {
        return whole.copy(kept, at, offset, offset + length) === length
      })
    file.hold(whole)
    return true
  }

  /** Copies the lines of a file into memory of their own; false if `copy` cannot copy one. */
  #gather(
    file: LineFile,
    copy: (kept: Buffer, at: number, offset: number, length: number) => boolean,
  ): boolean {
    const kept = Buffer.allocUnsafeSlow(file.wantedBytes)
    let to = 0
    for (const line of file.wanted) {
      const at = line * CELLS
      const length = this.#cells[at + LENGTH] as number
      if (!copy(kept, to, this.#cells[at + OFFSET] as number, length)) return false
      this.#cells[at + OFFSET] = to
      to += length
    }
    file.hold(kept)
    return true
  }

  #add(offset: number, length: number, line: number): number {
    const at = line * CELLS
    if (at >= this.#cells.length) this.#cells = doubled(this.#cells)
    this.#cells[at + FILE] = this.#files.length - 1
    this.#cells[at + OFFSET] = offset
    this.#cells[at + LENGTH] = length
    return line
  }

  #fileOf(line: number): LineFile {
    return this.#files[this.#cells[line * CELLS + FILE] as number] as LineFile
  }

  #bytesOf(line: number): Buffer | undefined {
    const from = this.#cells[line * CELLS + OFFSET] as number
    return this.#fileOf(line).bytes?.subarray(from, from + (this.#cells[line * CELLS + LENGTH] as number))
  }
}

function bytesOf(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  // Only the first line of a segment may begin with a byte order mark, and elsewhere than there it is none.
  return bytes[0] === 0xef ? bytes.subarray(3) : bytes
}

/** A file of which less than this part is wanted is not read as a whole. */
const SPARSE = 16

/** The state of a journal, and the lines that its images are in. */
export interface FoldedLines {
  readonly fold: Fold<Image>
  readonly lines: StoredLines
}

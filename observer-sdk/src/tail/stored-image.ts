/** The image of an entity as an observer keeps it: the bytes of its line, parsed when they are read. */
import { Buffer } from 'node:buffer'
import {
  type Entity,
  type EntityTable,
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

/** What an observer keeps of a live entity. */
export type Image = StoredLine | LineText

/** A line that was parsed when it was read: its bytes as a string of one byte a character, the smallest way to keep them. */
export class LineText {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  get bytes(): Buffer {
    const bytes = Buffer.from(this.#text, 'latin1')
    // Only the first line of a segment may begin with a byte order mark, and elsewhere than there it is none.
    return bytes[0] === 0xef ? bytes.subarray(3) : bytes
  }
}

/**
 * A line that was found without being parsed: of a segment, or an entity line of a checkpoint. While a segment is
 * scanned only its place is known; its bytes are loaded once the newest line of each entity is known.
 */
export class StoredLine {
  /** Number of the segment, or the head of the checkpoint below zero: there are many lines, and each field counts. */
  origin = 0
  /** Where in its file the line begins, and its length; once its bytes are loaded, where in these it begins. */
  offset = 0
  length = 0
  /** Where in the line its payload begins, and its length; 0 where only parsing can tell. */
  payloadAt = 0
  payloadLength = 0
  /** What the line is in, once that is loaded. */
  bytes: Buffer | undefined

  /** Becomes the line of a segment. */
  useFrame(segment: number, offset: number, frame: LineFrame): this {
    this.origin = segment
    this.offset = offset
    this.length = frame.to - frame.from
    this.payloadAt = frame.payloadStart - frame.from
    this.payloadLength = frame.hasPayload ? frame.payloadEnd - frame.payloadStart : 0
    this.bytes = undefined
    return this
  }

  /** Becomes a line of a checkpoint. */
  useEntity(headSeq: number, bytes: Buffer, from: number, to: number): this {
    this.origin = -headSeq
    this.offset = from
    this.length = to - from
    this.payloadLength = 0
    this.bytes = bytes
    return this
  }

  get isOfCheckpoint(): boolean {
    return this.origin < 0
  }

  /** What not to trust unparsed when the line turns out to be none. */
  get flaw(): Flaw {
    return this.isOfCheckpoint ? { checkpoint: -this.origin } : { segment: this.origin }
  }
}

/** The entity of an image; undefined if its line is not what its frame promised. */
export function entityOf(image: Image, itemType: string, itemId: string): Entity | undefined {
  const line =
    image instanceof LineText ? image.bytes : image.bytes?.subarray(image.offset, image.offset + image.length)
  if (line === undefined) return undefined
  if (image instanceof LineText || !image.isOfCheckpoint) {
    const record = recordOf(line)
    return record && upsertedEntity(record)
  }
  const entity = parseCheckpointEntity(line.toString('utf8'))
  return entity?.item_type === itemType && entity.item_id === itemId ? entity : undefined
}

/**
 * The payload of an image alone; undefined if only `entityOf` can tell. The rest of a framed line was checked when it
 * was matched, so the line is what it seemed if its payload is JSON.
 */
export function payloadInLine(image: Image): JsonObject | undefined {
  if (image instanceof LineText) return undefined
  const { bytes, offset, payloadAt, payloadLength } = image
  if (bytes === undefined || payloadLength === 0) return undefined
  const from = offset + payloadAt
  return parsePayload(bytes.toString('utf8', from, from + payloadLength))
}

/** A file of which less than this part is wanted is not read as a whole. */
const SPARSE = 16

/**
 * Loads the lines that a cold start found to be the newest of their entities, one segment after the other: files may vanish, so
 * bytes are kept. `identities` are of the files that were scanned, `last` is the one whose first bytes are still in memory. False
 * if a file is no longer there as it was scanned.
 */
export function* loadLines(
  entities: EntityTable<Image>,
  history: SegmentSet,
  identities: ReadonlyMap<number, string>,
  last: number,
): Generator<void, boolean> {
  const wanted = new Map<number, StoredLine[]>()
  for (const slot of entities.slots()) {
    const image = entities.imageAt(slot)
    if (!(image instanceof StoredLine) || image.bytes !== undefined) continue
    const lines = wanted.get(image.origin)
    if (lines === undefined) wanted.set(image.origin, [image])
    else lines.push(image)
  }
  const { inMemory } = history
  for (const [segment, lines] of wanted) {
    const bytes = lines.reduce((sum, { length }) => sum + length, 0)
    if (segment === last && keepOf(inMemory, lines, bytes)) continue
    const isLoaded = history.read(segment, content => {
      // Another file under that name may have other lines at these places.
      if (content.identity !== identities.get(segment)) return false
      if (bytes * SPARSE >= content.bytes || content.candidate.gzip)
        return keepOf(content.read(0, content.bytes), lines, bytes)
      return gather(lines, bytes, (kept, at, { length, offset }) => {
        return content.readInto(kept, at, length, offset) === length
      })
    })
    if (isLoaded !== true) return false
    yield
  }
  return true
}

/** Keeps all of a segment where nearly all of it is wanted, else a copy of what is; false if not all of the lines are in it. */
function keepOf(whole: Buffer, lines: readonly StoredLine[], bytes: number): boolean {
  if (lines.some(({ length, offset }) => offset + length > whole.length)) return false
  if (bytes * 6 <= whole.length * 5)
    return gather(lines, bytes, (kept, at, { length, offset }) => {
      return whole.copy(kept, at, offset, offset + length) === length
    })
  for (const line of lines) line.bytes = whole
  return true
}

function gather(
  lines: readonly StoredLine[],
  bytes: number,
  copy: (kept: Buffer, at: number, line: StoredLine) => boolean,
): boolean {
  const kept = Buffer.allocUnsafeSlow(bytes)
  let at = 0
  for (const line of lines) {
    if (!copy(kept, at, line)) return false
    line.bytes = kept
    line.offset = at
    at += line.length
  }
  return true
}

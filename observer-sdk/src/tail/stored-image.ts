/** The image of an entity as an observer keeps it: bytes of a line, parsed when they are read, or a parsed record. */
import type { Buffer } from 'node:buffer'
import {
  type Entity,
  type JsonObject,
  type LineFrame,
  parseCheckpointEntity,
  parsePayload,
  type ReadRecord,
  recordOf,
  upsertedEntity,
} from '@kim/manifest'

/** Where something looked right and was not: every line of such a segment is parsed, such a checkpoint left out. */
export type Flaw = { readonly segment: number } | { readonly checkpoint: number }

/** What an observer keeps of a live entity. */
export type Image = StoredLine | ParsedImage

/** The image that a parsed record makes of its entity. */
export class ParsedImage {
  readonly entity: Entity

  constructor(record: ReadRecord) {
    this.entity = upsertedEntity(record)
  }
}

/**
 * A line that was found without being parsed: of a segment, or an entity line of a checkpoint. While a segment is
 * scanned only its place is known; its bytes are loaded once the newest line of each entity is known.
 */
export class StoredLine {
  /** Number of the segment, or head of the checkpoint. */
  origin = 0
  isOfCheckpoint = false
  /** Where in its file the line begins, and its length. */
  offset = 0
  length = 0
  /** Where in the line its payload begins, and its length; 0 where only parsing can tell. */
  payloadAt = 0
  payloadLength = 0
  /** Where in these bytes the line begins, once they are loaded. */
  bytes: Buffer | undefined
  at = 0

  /** Becomes the line of a segment. */
  useFrame(segment: number, offset: number, frame: LineFrame): this {
    this.origin = segment
    this.isOfCheckpoint = false
    this.offset = offset
    this.length = frame.to - frame.from
    this.payloadAt = frame.payloadStart - frame.from
    this.payloadLength = frame.hasPayload ? frame.payloadEnd - frame.payloadStart : 0
    this.bytes = undefined
    return this
  }

  /** Becomes a line of a checkpoint. */
  useEntity(headSeq: number, bytes: Buffer, from: number, to: number): this {
    this.origin = headSeq
    this.isOfCheckpoint = true
    this.length = to - from
    this.payloadLength = 0
    this.bytes = bytes
    this.at = from
    return this
  }

  /** What not to trust unparsed when the line turns out to be none. */
  get flaw(): Flaw {
    return this.isOfCheckpoint ? { checkpoint: this.origin } : { segment: this.origin }
  }
}

/** The entity of an image; undefined if its line is not what its frame promised. */
export function entityOf(image: Image, itemType: string, itemId: string): Entity | undefined {
  if (image instanceof ParsedImage) return image.entity
  const { bytes, at, length } = image
  if (bytes === undefined) return undefined
  const line = bytes.subarray(at, at + length)
  if (!image.isOfCheckpoint) {
    const record = recordOf(line)
    return record && new ParsedImage(record).entity
  }
  const entity = parseCheckpointEntity(line.toString('utf8'))
  return entity?.item_type === itemType && entity.item_id === itemId ? entity : undefined
}

/**
 * The payload of an image alone; undefined if only `entityOf` can tell. The rest of a framed line was checked when it
 * was matched, so the line is what it seemed if its payload is JSON.
 */
export function payloadInLine(image: Image): JsonObject | undefined {
  if (image instanceof ParsedImage) return image.entity.payload
  const { bytes, at, payloadAt, payloadLength } = image
  if (bytes === undefined || payloadLength === 0) return undefined
  const from = at + payloadAt
  return parsePayload(bytes.toString('utf8', from, from + payloadLength))
}

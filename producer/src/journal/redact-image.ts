import { Buffer } from 'node:buffer'
import {
  type Entity,
  encodeCheckpointEntity,
  type JsonObject,
  jcs,
  type ReadRecord,
  SegmentReader,
} from '@kim/manifest'
import type { EntityLine } from './checkpoint.js'

/** Whose content is erased. */
export interface RedactedEntity {
  readonly item_type: string
  readonly item_id: string
}

/** What stands where a payload stood. */
const ERASED: JsonObject = { redacted: true, schema_version: 1 }
const ERASED_SUMMARY = 'redacted'

function isErased(raw: JsonObject): boolean {
  const { payload, payload_ref, summary } = raw
  const emptied = payload === undefined || jcs(payload) === jcs(ERASED)
  return emptied && payload_ref === undefined && (summary === undefined || summary === ERASED_SUMMARY)
}

/** The line of one of the entity's records without what it said; undefined if the line keeps its bytes. */
function erasedLine({ item_type, item_id, raw }: ReadRecord, entity: RedactedEntity): Buffer | undefined {
  if (item_type !== entity.item_type || item_id !== entity.item_id || isErased(raw)) return undefined
  const { payload, payload_ref, summary, ...rest } = raw
  const erased: JsonObject = {
    ...rest,
    ...(payload === undefined && payload_ref === undefined ? {} : { payload: ERASED }),
    ...(summary === undefined ? {} : { summary: ERASED_SUMMARY }),
  }
  return Buffer.from(jcs(erased).replaceAll('\ufeff', '\\ufeff'))
}

/** A segment's bytes with one entity's content erased, and how many lines that changed. */
export function eraseInSegment(
  bytes: Buffer,
  entity: RedactedEntity,
): { readonly bytes: Buffer; readonly lines: number } {
  const parts: Buffer[] = []
  let lines = 0
  let kept = 0
  const reader = new SegmentReader({
    valid({ record, offset, length }) {
      const erased = erasedLine(record, entity)
      if (erased === undefined) return
      parts.push(bytes.subarray(kept, offset), erased)
      kept = offset + length
      lines++
    },
  })
  reader.push(bytes)
  return lines === 0 ? { bytes, lines } : { bytes: Buffer.concat([...parts, bytes.subarray(kept)]), lines }
}

/** The line of a checkpoint without what it said of the entity. */
export function eraseInCheckpoint(line: EntityLine, entities: readonly RedactedEntity[]): EntityLine {
  const { item_type, item_id } = line.entity
  if (!entities.some(entity => entity.item_type === item_type && entity.item_id === item_id)) return line
  const entity: Entity = { ...line.entity, payload: ERASED, payload_ref: undefined }
  return { entity, text: encodeCheckpointEntity(entity, true) }
}

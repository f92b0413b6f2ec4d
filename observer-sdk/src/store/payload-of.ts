import { type JsonObject, parsePayload, type ReadRecord } from '@kim/manifest'
import { readBlob } from './blob-file.js'

/** A record's payload, read from its blob if it stands in one; undefined if there is none, or none that is whole. */
export function payloadOf(eventsDir: string, record: ReadRecord): JsonObject | undefined {
  if (record.payload !== undefined || record.payload_ref === undefined) return record.payload
  const blob = readBlob(eventsDir, record.payload_ref)
  return blob.ok ? parsePayload(blob.value.toString('utf8')) : undefined
}

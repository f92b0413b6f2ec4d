import { isJsonObject, type ReadRecord, SegmentReader } from '@kim/manifest'
import { type SegmentSource, segmentChunks } from './listing.js'
import type { Store } from './store.js'

/** How a segment begins. */
export interface SegmentHead {
  /** Its first valid record. */
  readonly first: ReadRecord | undefined
  /** True if a line that is no record stands before that. */
  readonly isHurt: boolean
}

/** Reads a segment up to its first valid record. */
export function readSegmentHead(store: Store, source: SegmentSource): SegmentHead {
  let first: ReadRecord | undefined
  let isHurt = false
  const reader = new SegmentReader({
    valid({ record }) {
      first = record
      return false
    },
    malformed() {
      isHurt = true
    },
  })
  for (const chunk of segmentChunks(store, source)) if (!reader.push(chunk)) break
  return { first, isHurt }
}

/** The project that a record states. */
export function projectOf(record: ReadRecord): string | undefined {
  const id = isJsonObject(record.payload) ? record.payload['project_id'] : undefined
  return typeof id === 'string' ? id : undefined
}

import type { JsonObject } from './envelope.js'
import { isJsonObject, isSeq } from './envelope.js'
import { parseSegmentName } from './layout.js'
import { limits } from './limits.js'

/** What `meta.json` says: advice about where the journal ended, never the truth. */
export interface Meta {
  readonly project_id: string
  readonly next_seq: number
  readonly active_segment: string
  readonly entity_revs: JsonObject
}

/** The text of `meta.json`. */
export function encodeMeta(meta: Pick<Meta, 'project_id' | 'next_seq' | 'active_segment'>): string {
  const { project_id, next_seq, active_segment } = meta
  return `${JSON.stringify({ active_segment, entity_revs: {}, next_seq, project_id })}\n`
}

/** What a text says if it is a valid `meta.json`. */
export function parseMeta(text: string): Meta | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isJsonObject(value)) return undefined
  const { project_id, next_seq, active_segment, entity_revs } = value
  if (typeof project_id !== 'string' || !isSeq(next_seq) || typeof active_segment !== 'string')
    return undefined
  if (parseSegmentName(active_segment) === undefined || !isJsonObject(entity_revs)) return undefined
  return { project_id, next_seq, active_segment, entity_revs }
}

/** The numbers that were announced and then lost, if `meta.json` credibly says so. */
export function announcedLoss(
  meta: Meta,
  projectId: string,
  nextSeq: number,
): { readonly from: number; readonly to: number } | undefined {
  const ahead = meta.next_seq - nextSeq
  const credible = meta.project_id === projectId && ahead > 0 && ahead <= limits.metaAheadRecordsMax
  return credible ? { from: nextSeq, to: meta.next_seq - 1 } : undefined
}

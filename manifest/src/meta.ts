import { isJsonObject, isSeq, parseJson } from './json.js'
import { limits } from './limits.js'

/** What a reader of `meta.json` may take from it: advice about where the journal ended, never the truth. */
export interface Meta {
  readonly project_id: string
  readonly next_seq: number
}

/** The text of `meta.json`. */
export function encodeMeta({ project_id, next_seq }: Meta, activeSegment: string): string {
  return `${JSON.stringify({ active_segment: activeSegment, entity_revs: {}, next_seq, project_id })}\n`
}

/** What a text says if it is a valid `meta.json`. */
export function parseMeta(text: string): Meta | undefined {
  const value = parseJson(text)
  if (!isJsonObject(value)) return undefined
  const { project_id, next_seq } = value
  return typeof project_id === 'string' && isSeq(next_seq) ? { project_id, next_seq } : undefined
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

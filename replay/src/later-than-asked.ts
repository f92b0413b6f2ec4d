/** Whether a state holds what was recorded later, by the clock, than the time that was asked for. */
import type { Point } from './point.js'
import type { StateDocument } from './state-document.js'
import { timestampMs } from './timestamp.js'

/** A record that is later by its clock and earlier in the journal. */
export interface LaterRecord {
  readonly seq: number
  readonly ts: string
}

/**
 * The first such record that the state still shows, where the wall clock was set back. What is shown is looked at, for
 * that is what would puzzle somebody; the whole journal is not read for it.
 */
export function laterThanAsked({ entities }: StateDocument, point: Point): LaterRecord | undefined {
  if (point.kind !== 'time') return undefined
  let first: LaterRecord | undefined
  for (const ofType of Object.values(entities)) {
    for (const { seq, ts } of Object.values(ofType)) {
      if (typeof seq !== 'number' || typeof ts !== 'string' || !(timestampMs(ts) > point.ms)) continue
      if (first === undefined || seq < first.seq) first = { seq, ts }
    }
  }
  return first
}

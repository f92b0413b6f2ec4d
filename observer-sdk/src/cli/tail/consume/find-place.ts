import { type ConsumerCursor, KimError } from '@kim/manifest'
import type { JournalFacts } from '../entry.js'
import { findRecord } from '../read/find-record.js'
import type { PastRecords } from '../read/history.js'

/** The place after everything that stands there. */
export function placeAtHead(past: PastRecords, facts: JournalFacts): ConsumerCursor {
  const newest = past.newest()?.record
  return place(facts, newest?.seq ?? 0, newest?.writer)
}

/** The place after the record with this seq, which must exist: a cursor above the head would be a gap. */
export function placeAtSeq(past: PastRecords, facts: JournalFacts, seq: number): ConsumerCursor {
  if (seq === 0) return place(facts, 0, undefined)
  const found = findRecord(past, { kind: 'seq', seq }, facts)
  if (found.kind !== 'record') throw new KimError('no_record', `the journal has no record with seq ${seq}`)
  return place(facts, seq, found.entry.record.writer)
}

function place(facts: JournalFacts, seq: number, writer: string | undefined): ConsumerCursor {
  return { projectId: facts.projectId(), seq, writer: writer ?? null, checkpointSeq: 0 }
}

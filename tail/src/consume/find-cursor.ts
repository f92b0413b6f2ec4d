import { type ConsumerCursor, KimError } from '@kim/manifest'
import { findRecord } from '../read/find-record.js'
import type { RecordLog } from '../read/record-log.js'
import type { JournalFacts } from '../record-line.js'

/** The place after everything that stands there. */
export function cursorAtHead(past: RecordLog, facts: JournalFacts): ConsumerCursor {
  const newest = past.newest()?.record
  return cursorAfter(facts, newest?.seq ?? 0, newest?.writer)
}

/** The place after the record with this seq, which must exist: a cursor above the head would be a gap. */
export function cursorAtSeq(past: RecordLog, facts: JournalFacts, seq: number): ConsumerCursor {
  if (seq === 0) return cursorAfter(facts, 0, undefined)
  const found = findRecord(past, { kind: 'seq', seq }, facts)
  if (found.kind !== 'record') throw new KimError('no_record', `the journal has no record with seq ${seq}`)
  return cursorAfter(facts, seq, found.entry.record.writer)
}

function cursorAfter(facts: JournalFacts, seq: number, writer: string | undefined): ConsumerCursor {
  return { projectId: facts.projectId(), seq, writer: writer ?? null, checkpointSeq: 0 }
}

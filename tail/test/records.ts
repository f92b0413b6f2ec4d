import type { ReadRecord } from '@kim/manifest'
import { record } from '../../monitor/dist-test/records.js'
import type { RecordLine } from '../dist/record-line.js'

/** A note of the journal about itself. */
export function note(seq: number): ReadRecord {
  return record(seq, {
    action: 'journal_note',
    agent: 'kim',
    item_id: 'producer_started',
    item_type: 'journal',
    payload: { kind: 'producer_started', schema_version: 1 },
  })
}

/** A record with its line, as a command handles it. */
export function entry(of: ReadRecord): RecordLine {
  return { record: of, line: Buffer.from(JSON.stringify(of.raw)) }
}

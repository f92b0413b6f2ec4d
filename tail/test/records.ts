import type { ReadRecord } from '@kim/manifest'
import type { JournalLine } from '@kim/observer-sdk'
import { record } from '../../monitor/dist-test/records.js'

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
export function entry(of: ReadRecord): JournalLine {
  return { record: of, line: Buffer.from(JSON.stringify(of.raw)), segment: 1, offset: 0 }
}

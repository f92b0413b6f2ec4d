import type { JsonObject, ReadRecord } from '@kim/manifest'
import type { JournalFacts } from '../dist/monitor-event.js'

/** Facts of a journal in which nothing stands in blobs. */
export const facts: JournalFacts = {
  projectId: () => '0123456789abcdef0123456789abcdef',
  payloadOf: record => record.payload,
}

/** A record as a reader has it. */
export function record(seq: number, fields: Partial<ReadRecord> = {}): ReadRecord {
  const base = {
    seq,
    action: 'create',
    agent: 'river',
    item_type: 'note',
    ts: '2026-06-10T14:03:22.114Z',
    writer: 'w_1-aa',
    ...fields,
  }
  const raw = Object.fromEntries(
    Object.entries({ v: 2, ...base }).filter(([name, value]) => value !== undefined && name !== 'raw'),
  )
  return { ...base, raw: raw as JsonObject }
}

/** An announced message from argus to river. */
export function message(seq: number, fields: Partial<ReadRecord> = {}): ReadRecord {
  return record(seq, {
    event: 'new',
    item_id: 'river/246',
    item_type: 'message',
    summary: 'from argus: tests are green',
    payload: {
      content: 'tests are green',
      created: '2026-06-10T14:03:21Z',
      from: 'argus',
      id: 246,
      persona: 'river',
      read: false,
      schema_version: 1,
    },
    ...fields,
  })
}

import { type EventRecord, encodeRecord } from '@kim/manifest'

/** A record of our writer, with what a test cares about. */
export function record(fields: Partial<EventRecord> = {}): EventRecord {
  const seq = fields.seq ?? 1
  return {
    v: 2,
    seq,
    ts: '2026-06-10T14:03:22.114Z',
    writer: 'w_31416-9f3c2a',
    agent: 'river',
    action: 'create',
    item_type: 'message',
    item_id: `river/${seq}`,
    entity_rev: 1,
    summary: 'from argus: tests are green',
    ...fields,
  }
}

/** The bytes of a line without its `\n`. */
export function lineOf(value: EventRecord | object | string): Uint8Array {
  if (typeof value === 'string') return Buffer.from(value)
  return Buffer.from(JSON.stringify(value))
}

/** The bytes of a record's line as our writer writes it, without its `\n`. */
export function encoded(fields: Partial<EventRecord> = {}): Uint8Array {
  return Buffer.from(encodeRecord(record(fields)).slice(0, -1))
}

import type { Effect, JsonObject, ReadRecord } from '@kim/manifest'

/** Which note a record is: its kind, or its verb if it has one of its own; nothing if it is no note. */
export function noteKindOf(record: ReadRecord, effect: Effect): string | undefined {
  if (effect !== 'meta') return undefined
  if (record.action !== 'journal_note') return record.action
  const kind = record.payload?.['kind']
  return typeof kind === 'string' ? kind : ''
}

/** A note's payload; empty if it has none. */
export function notePayload(record: ReadRecord): JsonObject {
  return record.payload ?? {}
}

import { alertFacts, isNews, type JsonObject, type ReadRecord, wakeClassOf } from '@kim/manifest'

export { idOf, type JournalFacts } from '@kim/monitor'

/** One line of the journal, as every part of the command handles it. */
export interface RecordLine {
  readonly record: ReadRecord
  /** The stored line without its `\n`. */
  readonly line: Uint8Array
}

/** True for the journal's notes about itself, which belong to no persona. */
export function isJournalRecord(record: ReadRecord): boolean {
  return record.agent === 'kim' && record.item_type === 'journal'
}

/**
 * True for what a person means by "an event of the inbox": whatever is announced, and every message that comes to
 * stand, announced or not. Read marks, revised bodies and the journal's notes are not.
 */
export function isInboxEntry(record: ReadRecord): boolean {
  if (isNews(record)) return true
  return record.item_type === 'message' && (record.action === 'create' || record.action === 'backfill')
}

/** What happened to what: `message.new`, `alert.recovered`, `message.backfill`. */
export function typeOf(record: ReadRecord): string {
  return `${record.item_type}.${isNews(record) ? record.event : record.action}`
}

/** `mail`, `diagnostic` or `liveness` for what announces something, undefined for the rest. */
export function wakeOf(record: ReadRecord): string | undefined {
  return record.event !== undefined && isNews(record) ? wakeClassOf(record.event) : undefined
}

/** Who wrote a message. */
export function senderOf(payload: JsonObject | undefined): string | undefined {
  return text(payload?.['from'])
}

/** What a person wants to read: the body of a message, the reason of an alert, else the summary. */
export function bodyOf(record: ReadRecord, payload: JsonObject | undefined): string {
  return text(payload?.['content']) ?? text(payload?.['reason']) ?? record.summary ?? ''
}

/** Marked urgent by its sender, or an alarm about urgent mail. */
export function isUrgent(payload: JsonObject | undefined): boolean {
  return payload?.['urgent'] === true || alertFacts(payload).is_urgent === true
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

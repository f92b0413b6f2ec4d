import type { JsonObject, ReadRecord } from '@kim/manifest'
import { bodyOf, isInboxEntry, isJournalRecord, isUrgent, senderOf, typeOf, wakeOf } from '../record-line.js'
import { matchesGlob } from './glob.js'
import type { Pattern } from './pattern.js'

/** What a command was asked to show. Absent means: no such condition. */
export interface Selection {
  /** Empty for every persona. */
  readonly personas: readonly string[]
  /** `entries` unless said: what announces something, and messages that come to stand. */
  readonly records?: 'all' | 'entries' | 'news'
  /** Only what wakes: mail and diagnostics, never signs of life. */
  readonly wake?: boolean
  readonly types?: readonly string[]
  readonly notTypes?: readonly string[]
  readonly senders?: readonly string[]
  readonly urgent?: boolean
  readonly grep?: Pattern
  /** Milliseconds since 1970; a record without a readable time is outside every span. */
  readonly sinceMs?: number
  readonly untilMs?: number
  readonly toSeq?: number
}

/** Whether a record belongs to the selected personas. A persona filter never matches the journal's own notes. */
export function isOf(personas: readonly string[], record: ReadRecord): boolean {
  if (personas.length === 0) return true
  return record.agent !== undefined && personas.includes(record.agent) && !isJournalRecord(record)
}

/** The selection as a question about one record. Payloads are asked for only where a condition needs them. */
export function createFilter(
  selection: Selection,
  payloadOf: (record: ReadRecord) => JsonObject | undefined,
): (record: ReadRecord) => boolean {
  const {
    personas,
    records = 'entries',
    wake,
    types,
    notTypes,
    senders,
    urgent,
    grep,
    sinceMs,
    untilMs,
    toSeq,
  } = selection
  return record => {
    if (!isOf(personas, record)) return false
    if (toSeq !== undefined && record.seq > toSeq) return false
    if (sinceMs !== undefined || untilMs !== undefined) {
      const at = Date.parse(record.ts ?? '')
      if (!(at >= (sinceMs ?? at) && at <= (untilMs ?? at))) return false
    }
    const wakeClass = wakeOf(record)
    if (records === 'news' && wakeClass === undefined) return false
    if (records === 'entries' && !isInboxEntry(record)) return false
    if (wake === true && (wakeClass === undefined || wakeClass === 'liveness')) return false
    if (types !== undefined && !types.some(glob => matchesType(glob, record))) return false
    if (notTypes?.some(glob => matchesType(glob, record)) === true) return false
    if (senders === undefined && urgent !== true && grep === undefined) return true
    const payload = payloadOf(record)
    const sender = senderOf(payload)
    if (senders !== undefined && (sender === undefined || !senders.includes(sender))) return false
    if (urgent === true && !isUrgent(payload)) return false
    return grep === undefined || grep.test(searchText(record, payload))
  }
}

/** What `--grep` and `--until-match` look at: the sender and the whole body. */
export function searchText(record: ReadRecord, payload: JsonObject | undefined): string {
  const sender = senderOf(payload)
  const body = bodyOf(record, payload)
  return sender === undefined ? body : `${sender}: ${body}`
}

/** A glob names a type (`message.new`, `alert.*`) or an item type alone (`message`). */
function matchesType(glob: string, record: ReadRecord): boolean {
  return matchesGlob(glob, typeOf(record)) || matchesGlob(glob, record.item_type)
}

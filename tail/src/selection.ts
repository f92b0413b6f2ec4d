/** What a record says to a person, and which records a command line selects. */
import { createContext, Script } from 'node:vm'
import { usageError } from '@kim/cli-kit'
import { alertFacts, isNews, type JsonObject, type ReadRecord, wakeClassOf } from '@kim/manifest'

/** True for the journal's notes about itself, which belong to no persona. */
export function isJournalRecord(record: ReadRecord): boolean {
  return record.agent === 'kim' && record.item_type === 'journal'
}

/**
 * True for what a person means by "an event of the inbox": each announcement, and each new message, announced or
 * not. Read marks, revised bodies and the journal's notes are not.
 */
function isInboxEntry(record: ReadRecord): boolean {
  if (isNews(record)) return true
  return record.item_type === 'message' && (record.action === 'create' || record.action === 'backfill')
}

/** What happened to what: `message.new`, `alert.recovered`, `message.backfill`. */
export function typeOf(record: ReadRecord): string {
  return `${record.item_type}.${isNews(record) ? record.event : record.action}`
}

/** `mail`, `diagnostic` or `liveness` for a record that announces something, undefined for any other. */
export function wakeOf(record: ReadRecord): string | undefined {
  return record.event !== undefined && isNews(record) ? wakeClassOf(record.event) : undefined
}

/** Who wrote a message. */
export function senderOf(payload: JsonObject | undefined): string | undefined {
  return text(payload?.['from'])
}

/** The text of a record for a person: the body of a message, the reason of an alert, else the summary. */
export function bodyOf(record: ReadRecord, payload: JsonObject | undefined): string {
  const reason = payload?.['status'] === 'cleared' ? undefined : text(payload?.['reason'])
  return text(payload?.['content']) ?? reason ?? record.summary ?? ''
}

/** Marked urgent by its sender, or an alarm about urgent mail. */
export function isUrgent(payload: JsonObject | undefined): boolean {
  return payload?.['urgent'] === true || alertFacts(payload).is_urgent === true
}

/** Which records a command prints. An absent member is no condition. */
export interface Selection {
  /** Empty for every persona. */
  readonly personas: readonly string[]
  /** `entries` by default: announcements and new messages. */
  readonly records?: 'all' | 'entries' | 'news'
  /** Only records that wake an agent: mail and diagnostics, never signs of life. */
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

/** The selection as a test of one record. It reads a payload only if a condition needs it. */
export function createFilter(
  { personas, records = 'entries', ...wanted }: Selection,
  payloadOf: (record: ReadRecord) => JsonObject | undefined,
): (record: ReadRecord) => boolean {
  const { grep, notTypes, senders, sinceMs, toSeq, types, untilMs, urgent, wake } = wanted
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

/** The text that `--grep` and `--until-match` search: the sender and the whole body. */
export function searchText(record: ReadRecord, payload: JsonObject | undefined): string {
  const sender = senderOf(payload)
  const body = bodyOf(record, payload)
  return sender === undefined ? body : `${sender}: ${body}`
}

/** A glob names a type (`message.new`, `alert.*`) or an item type alone (`message`). */
function matchesType(glob: string, record: ReadRecord): boolean {
  return matchesGlob(glob, typeOf(record)) || matchesGlob(glob, record.item_type)
}

/**
 * Whether a text matches a pattern in which `*` matches any run of characters and `?` one character.
 * Two pointers and no regular expression: a hostile pattern or text costs at most the product of their lengths.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  let p = 0
  let t = 0
  let star = -1
  let starText = 0
  while (t < text.length) {
    if (pattern[p] === '*') {
      star = p++
      starText = t
    } else if (p < pattern.length && (pattern[p] === '?' || pattern[p] === text[t])) {
      p++
      t++
    } else if (star !== -1) {
      p = star + 1
      t = ++starText
    } else {
      return false
    }
  }
  while (pattern[p] === '*') p++
  return p === pattern.length
}

/** A search pattern whose search always ends. */
export interface Pattern {
  test(text: string): boolean
}

/** Time for one text, longer than a person would wait for. */
const TEST_MS_MAX = 1000

/**
 * Finds patterns that may take exponential time: more than one repetition, a group that repeats, or a back reference.
 * All others run directly, which is much faster than a search that can be stopped.
 */
const CAN_EXPLODE = /[*+}?].*[*+}]|\)[*+{]|\\[1-9k]/s

/**
 * A regular expression whose search of one text ends, whatever the text, so that the process can answer signals.
 * `undecided` is the answer for a text whose time is up.
 */
export function bounded(pattern: RegExp, undecided: boolean): Pattern {
  if (!CAN_EXPLODE.test(pattern.source)) return pattern
  const context = createContext({ pattern, text: '' })
  const script = new Script('pattern.test(text)')
  return {
    test: text => {
      context['text'] = text
      try {
        return script.runInContext(context, { timeout: TEST_MS_MAX }) === true
      } catch {
        return undecided
      }
    },
  }
}

/** A search pattern with smart case: a pattern without a capital letter ignores case. */
export function compilePattern(source: string, flag: string, caseSensitive = false): RegExp {
  const ignoreCase = !caseSensitive && !hasCapital(source)
  try {
    return new RegExp(source, ignoreCase ? 'iu' : 'u')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw usageError(
      `${flag} is not a valid regular expression: ${reason}`,
      'put a backslash before special characters',
    )
  }
}

/** Whether a letter of the pattern is a capital. Escapes such as `\S` or `\p{Lu}` do not count. */
function hasCapital(source: string): boolean {
  return /\p{Lu}/u.test(source.replace(/\\[pP]\{[^}]*\}|\\./g, ''))
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

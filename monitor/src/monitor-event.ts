import { isNews, type JsonObject, type JsonValue, nonceOf, type ReadRecord, wakeClassOf } from '@kim/manifest'
import { type ClockReadings, clockReadingsOf, type MonitorClocks, monitorClocksOf } from './clock-readings.js'
import { firstCodePoints } from './cut-text.js'
import { idOf, type JournalFacts } from './journal-facts.js'

/** The `source` of every event line. */
const SOURCE = 'kijito-inbox'

/** An event as the older monitor announced it; members in the order in which they are printed. */
export interface MonitorEvent {
  readonly event: string
  readonly source: string
  readonly ts: string
  readonly [member: string]: JsonValue | MonitorClocks | undefined
  readonly event_id: string
  readonly nonce: string
  readonly emitted: MonitorClocks
  readonly wake_class: string
}

/** Members of each kind, in order; `alert` has those of all its variants. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  seed_ahead: ['seeded', 'current_max'],
  replay_capped: ['capped_to', 'dropped'],
  state_corrupt: ['armed_at', 'reason'],
  baseline_skipped: ['armed_at', 'skipped', 'id_range', 'unread_held', 'reason'],
  persona_added: [],
  alert: [
    'reason',
    'consecutive_failures',
    'seconds',
    'omitted',
    'unread_not_shown',
    'window_floor',
    'current_max',
    'cursor_at',
    'above_watermark',
    'reconciled',
    'forgot',
    'pinned',
    'evidence_lost',
    'stranded_inboxes',
    'dormant_inboxes',
    'urgent_unanswered',
    'urgent_unanswered_write_only',
  ],
}

/** What a kind that nobody has classified yet is printed with. */
const UNKNOWN_MEMBERS: readonly string[] = ['reason']

/** What the lines say beyond their record. */
export interface MonitorLook {
  readonly facts: JournalFacts
  /** Code points of a body; undefined to leave bodies out. */
  readonly contentChars: number | undefined
  /** Names the clocks behind `emitted`. */
  readonly platform: NodeJS.Platform
}

/** The event that a record announces, or undefined if it announces none. */
export function monitorEvent(record: ReadRecord, look: MonitorLook): MonitorEvent | undefined {
  if (record.event === undefined || !isNews(record)) return undefined
  const payload = look.facts.payloadOf(record) ?? {}
  const id = idOf(record, look.facts)
  return stamp(
    record.event,
    members(record, payload, look.contentChars),
    id,
    clockReadingsOf(record),
    look.platform,
  )
}

/** A heartbeat: the one event that the printing process makes itself. */
export function heartbeatEvent(
  persona: string,
  cursor: number | undefined,
  id: string,
  clocks: ClockReadings,
  platform: NodeJS.Platform,
): MonitorEvent {
  return stamp('heartbeat', { cursor: cursor ?? null, persona }, id, clocks, platform)
}

function stamp(
  event: string,
  own: Readonly<Record<string, JsonValue | undefined>>,
  id: string,
  clocks: ClockReadings,
  platform: NodeJS.Platform,
): MonitorEvent {
  return {
    event,
    source: SOURCE,
    ts: clocks.ts,
    ...own,
    event_id: id,
    nonce: nonceOf(id),
    emitted: monitorClocksOf(clocks, platform),
    wake_class: wakeClassOf(event),
  }
}

function members(
  record: ReadRecord,
  payload: JsonObject,
  contentChars: number | undefined,
): Record<string, JsonValue | undefined> {
  const persona = record.agent ?? text(payload['persona'])
  switch (record.event) {
    case 'new':
      return {
        // What no consumer takes for a number or a name, however long, must not keep the line from being printed.
        id: typeof payload['id'] === 'number' ? payload['id'] : idIn(record),
        from: plain(payload['from']),
        created: payload['created'] ?? null,
        persona,
        content: contentOf(payload, contentChars),
      }
    case 'armed':
    case 'recovered':
    case 'heartbeat':
      return { cursor: cursorIn(payload) ?? null, persona }
    default:
      return { ...chosen(payload, membersOf(record.event ?? '')), persona }
  }
}

/** The event is a text from the journal: `constructor` is a name like any other. */
function membersOf(event: string): readonly string[] {
  return (Object.hasOwn(MEMBERS, event) ? MEMBERS[event] : undefined) ?? UNKNOWN_MEMBERS
}

function chosen(payload: JsonObject, names: readonly string[]): Record<string, JsonValue | undefined> {
  return Object.fromEntries(
    names.filter(name => Object.hasOwn(payload, name)).map(name => [name, payload[name]]),
  )
}

/** The larger of the watermark and a seed that lies ahead of it: what a person understands by "cursor". */
export function cursorIn(payload: JsonObject): number | undefined {
  const known = [payload['cursor'], payload['silent_to']].filter(value => typeof value === 'number')
  return known.length === 0 ? undefined : Math.max(...known)
}

/** Bodies were kept out of the store or are kept out of the output: then there is no member at all. */
function contentOf(payload: JsonObject, chars: number | undefined): string | undefined {
  if (chars === undefined || !Object.hasOwn(payload, 'content')) return undefined
  const content = payload['content'] ?? ''
  return firstCodePoints(typeof content === 'string' ? content : JSON.stringify(content), chars)
}

/** Text, which can be cut to fit; anything but text and null as JSON. */
function plain(value: JsonValue | undefined): string | null {
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The message's number stands in its entity's id too. */
function idIn(record: ReadRecord): number | null {
  const id = Number(/\/(\d+)$/.exec(record.item_id ?? '')?.[1])
  return Number.isSafeInteger(id) ? id : null
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

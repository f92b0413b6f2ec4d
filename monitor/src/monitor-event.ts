/** A record as the event that the older monitor announced, and the clocks that it is stamped with. */
import { uptime } from 'node:os'
import {
  eventIdOf,
  isAccountAlertKind,
  isNews,
  type JsonObject,
  type JsonValue,
  nonceOf,
  type ReadRecord,
  wakeClassOf,
} from '@kim/manifest'
import { firstCodePoints, PythonFloat } from './event-line.js'

/** What a record alone does not say: whose journal it is in, and a payload that is in a blob. */
export interface JournalFacts {
  readonly projectId: () => string
  /** The payload, read from its blob if it is in one; undefined if there is none or it is unavailable. */
  readonly payloadOf: (record: ReadRecord) => JsonObject | undefined
}

/** One instant, read from several clocks at once. */
export interface ClockReadings {
  /** RFC 3339 with microseconds and `+00:00`. */
  readonly ts: string
  readonly monotonicMs: number | undefined
  readonly boottimeMs: number | undefined
}

/** The clocks as the older monitor printed them: seconds, and which constant each came from. */
export type MonitorClocks = {
  readonly wall: string
  readonly monotonic?: PythonFloat | undefined
  readonly boottime?: PythonFloat | undefined
  readonly src: { readonly monotonic?: string | undefined; readonly boottime?: string | undefined }
  readonly clock_defect?:
    | {
        readonly kind: string
        readonly boottime: PythonFloat
        readonly boottime_src: string
        readonly monotonic: PythonFloat
      }
    | undefined
}

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
  alert: (
    'reason consecutive_failures seconds omitted unread_not_shown window_floor current_max cursor_at ' +
    'above_watermark reconciled forgot pinned evidence_lost stranded_inboxes dormant_inboxes ' +
    'urgent_unanswered urgent_unanswered_write_only'
  ).split(' '),
}

/** The members of a kind that is not in the table. */
const UNKNOWN_MEMBERS: readonly string[] = ['reason']

/** What the line of a record depends on besides the record. */
export interface MonitorLook {
  readonly facts: JournalFacts
  /** Code points of a body; undefined to leave bodies out. */
  readonly contentChars: number | undefined
  /** Decides the names of the clocks in `emitted`. */
  readonly platform: NodeJS.Platform
}

/** The event that a record announces, or undefined if it announces none. */
export function monitorEvent(record: ReadRecord, look: MonitorLook): MonitorEvent | undefined {
  if (record.event === undefined || !isNews(record)) return undefined
  const { contentChars, facts, platform } = look
  const own = members(record, record.event, facts.payloadOf(record) ?? {}, contentChars)
  const at = Date.parse(record.ts ?? '')
  const clocks = {
    // Readers key lifecycle events on `ts`, so two of one millisecond must differ.
    ts: microsecondTime(Number.isNaN(at) ? 0 : at, record.seq),
    monotonicMs: record.clock?.mono_ms,
    boottimeMs: record.clock?.boot_ms,
  }
  return stamp(record.event, own, idOf(record, facts), clocks, platform)
}

/** The id under which a record is known outside the journal. */
export function idOf(record: ReadRecord, facts: JournalFacts): string {
  // A message's id does not hold the project, and to find the project costs a look into the store.
  return eventIdOf(record.event === 'new' ? '' : facts.projectId(), record)
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
  event: string,
  payload: JsonObject,
  contentChars: number | undefined,
): Record<string, JsonValue | undefined> {
  const persona = record.agent ?? text(payload['persona'])
  switch (event) {
    case 'new':
      return {
        // An id or a name of another type may be too long for a line, which would then not be printed.
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
      // The older monitor wrote the persona first where an alert is about the account.
      return { ...(isAccountAlertKind(payload['kind']) && { persona }), ...chosen(payload, event), persona }
  }
}

/** The members of a payload that belong to an event. Names come from the journal: `constructor` is one like any other. */
function chosen(payload: JsonObject, event: string): Record<string, JsonValue | undefined> {
  const names = (Object.hasOwn(MEMBERS, event) ? MEMBERS[event] : undefined) ?? UNKNOWN_MEMBERS
  return Object.fromEntries(
    names.filter(name => Object.hasOwn(payload, name)).map(name => [name, payload[name]]),
  )
}

/** The larger of the watermark and a seed that lies ahead of it: what a person understands by "cursor". */
export function cursorIn(payload: JsonObject): number | undefined {
  const known = [payload['cursor'], payload['silent_to']].filter(value => typeof value === 'number')
  return known.length === 0 ? undefined : Math.max(...known)
}

/** The body; undefined, and so no member, where the store or the output leaves bodies out. */
function contentOf(payload: JsonObject, chars: number | undefined): string | undefined {
  if (chars === undefined || !Object.hasOwn(payload, 'content')) return undefined
  const content = payload['content'] ?? ''
  return firstCodePoints(typeof content === 'string' ? content : JSON.stringify(content), chars)
}

/** A value as text, which can be cut to fit: JSON, unless it is text or null. */
function plain(value: JsonValue | undefined): string | null {
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The message's number, from the id of its entity. */
function idIn(record: ReadRecord): number | null {
  const id = Number(/\/(\d+)$/.exec(record.item_id ?? '')?.[1])
  return Number.isSafeInteger(id) ? id : null
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** What the clocks are called where the journal was written. */
const SOURCES: Readonly<Partial<Record<NodeJS.Platform, { monotonic: string; boottime: string }>>> = {
  linux: { monotonic: 'CLOCK_MONOTONIC', boottime: 'CLOCK_BOOTTIME' },
  darwin: { monotonic: 'CLOCK_UPTIME_RAW', boottime: 'CLOCK_MONOTONIC_RAW' },
}

/** A platform that keeps one clock coarser than the other can read a pair inverted by as much as this. */
const RESOLUTION_MS = 10

/** The clocks of this machine, read together; `micros` tells moments of one millisecond apart. */
export function readHostClocks(micros: number): ClockReadings {
  const [seconds, nanoseconds] = process.hrtime()
  const steady = seconds * 1000 + nanoseconds / 1e6
  const ts = microsecondTime(Date.now(), micros)
  // What Node calls its steady clock counts sleep on macOS and does not on Linux.
  if (process.platform === 'darwin') return { ts, monotonicMs: undefined, boottimeMs: steady }
  return { ts, monotonicMs: steady, boottimeMs: process.platform === 'linux' ? uptime() * 1000 : undefined }
}

/** `2026-06-10T14:03:22.114342+00:00`; of `micros` the last three digits count. */
export function microsecondTime(ms: number, micros: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}${String(micros % 1000).padStart(3, '0')}+00:00`
}

/** The three readings of a moment. What the platform does not offer is left out, never invented. */
export function monitorClocksOf(clocks: ClockReadings, platform: NodeJS.Platform): MonitorClocks {
  const { ts: wall, monotonicMs = Number.NaN, boottimeMs = Number.NaN } = clocks
  const names = SOURCES[platform] ?? { monotonic: 'monotonic', boottime: 'boottime' }
  // Sleep can only make boottime the larger one. Within the resolution, the two are the same reading.
  const isDefect = monotonicMs - boottimeMs > RESOLUTION_MS
  const [monotonic, boottime] = [seconds(monotonicMs), seconds(boottimeMs)]
  const shown = isDefect ? undefined : boottimeMs < monotonicMs ? monotonic : boottime
  return {
    wall,
    monotonic,
    boottime: shown,
    src: { monotonic: monotonic && names.monotonic, boottime: shown && names.boottime },
    clock_defect:
      isDefect && monotonic && boottime
        ? { kind: 'boottime_below_monotonic', boottime, boottime_src: names.boottime, monotonic }
        : undefined,
  }
}

function seconds(ms: number): PythonFloat | undefined {
  return Number.isNaN(ms) ? undefined : new PythonFloat(Math.round(ms * 1000) / 1e6)
}

import { basename } from 'node:path'
import { classOf, type Effect, type ReadRecord, safeText } from '@kim/manifest'
import { openCheckpoint } from '../store/file-content.js'
import { listStore, type SegmentEntry } from '../store/listing.js'
import { noJournalAt } from '../store/no-journal.js'
import { found, type ReadResult } from '../store/read-only-fs.js'
import { type PassOptions, PassPacer, segmentBytes, storedBytesOf } from './pace.js'
import {
  type JournalSink,
  type LinePlace,
  type RecordEntry,
  type RecordFate,
  type SegmentEnd,
  walkJournal,
} from './walk.js'

/** Records counted by one of their properties. */
export type RecordCounts = Readonly<Record<string, number>>

/** A checkpoint file. */
export interface CheckpointStats {
  readonly file: string
  /** The last seq that it covers. */
  readonly head_seq: number
  readonly place: 'live' | 'archive'
  /** Bytes on disk. */
  readonly bytes: number
}

/** What the lines of a journal hold. */
export interface RecordStats {
  /** Valid records, those without effect included. */
  readonly records: number
  /** The seq of the first record in file order; null if there is none. */
  readonly first_seq: number | null
  /** The highest seq; 0 if there is none. */
  readonly head_seq: number
  /** Earliest and latest `ts` of a record, whatever their order. */
  readonly first_ts: string | null
  readonly last_ts: string | null
  readonly by_item_type: RecordCounts
  readonly by_action: RecordCounts
  /** By class of the action; `unknown` for verbs that have none. */
  readonly by_class: RecordCounts
  /** By persona; journal notes belong to none. */
  readonly by_persona: RecordCounts
  /** Bytes of all segments, unpacked. */
  readonly bytes: number
  /** The record with the longest line, in bytes. */
  readonly largest_record: { readonly seq: number; readonly segment: string; readonly bytes: number } | null
  /** Lines that are no records. */
  readonly malformed: number
  /** Lines of a later version. */
  readonly future: number
  /** Records whose run never became complete. */
  readonly without_effect: number
  /** Segments that could not be read to their end, and folders that could not be listed. */
  readonly unreadable: readonly string[]
}

/** What a journal directory holds. */
export interface JournalStats extends RecordStats {
  readonly live_segments: number
  readonly archived_segments: number
  /** Bytes of segments on disk. */
  readonly stored_bytes: number
  readonly checkpoints: readonly CheckpointStats[]
}

/** Counts what a journal directory holds, archive included. Rejects only with the reason of an aborted signal. */
export async function statsJournal(options: PassOptions): Promise<ReadResult<JournalStats>> {
  const { eventsDir } = options
  if (noJournalAt(eventsDir) !== undefined)
    return { ok: false, reason: 'absent', path: eventsDir, code: 'no_journal' }
  const listed = listStore(eventsDir)
  if (!listed.ok) return listed
  const { segments, checkpoints, failures } = listed.value
  const pace = new PassPacer(options)
  const storedBytes = segmentBytes(eventsDir, listed.value)
  pace.expect(storedBytes)
  const counter = new RecordCounter()
  await walkJournal(eventsDir, segments, counter, pace)
  pace.finish()
  return found({
    ...counter.result(failures.map(({ path }) => basename(path))),
    live_segments: segments.filter(segment => segment.place === 'live').length,
    archived_segments: segments.filter(segment => segment.place === 'archive').length,
    stored_bytes: storedBytes,
    checkpoints: checkpoints.map(({ name, headSeq, place }) => ({
      file: name,
      head_seq: headSeq,
      place,
      bytes: storedBytesOf(openCheckpoint(eventsDir, headSeq)),
    })),
  })
}

type Counted = Omit<RecordStats, 'by_item_type' | 'by_action' | 'by_class' | 'by_persona' | 'unreadable'>

class RecordCounter implements JournalSink {
  readonly #types = new Tally()
  readonly #actions = new Tally()
  readonly #classes = new Tally()
  readonly #personas = new Tally()
  readonly #unreadable: string[] = []
  readonly #all: { -readonly [Name in keyof Counted]: Counted[Name] } = {
    records: 0,
    first_seq: null,
    head_seq: 0,
    first_ts: null,
    last_ts: null,
    bytes: 0,
    largest_record: null,
    malformed: 0,
    future: 0,
    without_effect: 0,
  }

  line({ seq }: ReadRecord, _effect: Effect, { length: bytes }: Uint8Array, { segment }: LinePlace): void {
    if (bytes > (this.#all.largest_record?.bytes ?? -1)) this.#all.largest_record = { seq, segment, bytes }
  }

  record({ record, seq, effect }: RecordEntry, fate: RecordFate): void {
    const all = this.#all
    all.records += 1
    if (fate === 'dropped') all.without_effect += 1
    all.first_seq ??= seq
    all.head_seq = Math.max(all.head_seq, seq)
    this.#types.count(record.item_type)
    this.#actions.count(record.action)
    this.#classes.count(classOf(record.action) ?? 'unknown')
    if (record.agent !== undefined && !isOfJournal(effect, record)) this.#personas.count(record.agent)
    const { ts } = record
    if (ts === undefined) return
    if (all.first_ts === null || ts < all.first_ts) all.first_ts = ts
    if (all.last_ts === null || ts > all.last_ts) all.last_ts = ts
  }

  malformed(): void {
    this.#all.malformed += 1
  }

  future(): void {
    this.#all.future += 1
  }

  endSegment({ name }: SegmentEntry, { bytes, failure }: SegmentEnd): void {
    this.#all.bytes += bytes
    if (failure !== undefined) this.#unreadable.push(name)
  }

  unreadable({ name }: SegmentEntry): void {
    this.#unreadable.push(name)
  }

  result(blocked: readonly string[]): RecordStats {
    const { records, first_seq, head_seq, first_ts, last_ts, ...rest } = this.#all
    return {
      ...{ records, first_seq, head_seq, first_ts, last_ts },
      by_item_type: this.#types.counts(),
      by_action: this.#actions.counts(),
      by_class: this.#classes.counts(),
      by_persona: this.#personas.counts(),
      ...rest,
      unreadable: [...blocked, ...this.#unreadable],
    }
  }
}

function isOfJournal(effect: Effect, { agent, item_type: type }: ReadRecord): boolean {
  return effect === 'meta' || (agent === 'kim' && type === 'journal')
}

class Tally {
  readonly #counts = new Map<string, number>()

  count(name: string): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
  }

  /** Largest first, then by name. */
  counts(): RecordCounts {
    const entries = [...this.#counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    return Object.fromEntries(entries)
  }
}

/** The rows of a table that a person reads at once. */
const ROWS_MAX = 12

/** What a journal holds, for a person. Its lines are safe, each by itself: no text in the journal begins one. */
export function statsText(stats: JournalStats, eventsDir: string): string {
  const number = (amount: number): string => amount.toLocaleString('en-US')
  const largest = stats.largest_record
  return [
    eventsDir,
    `  records      ${number(stats.records)} (seq ${stats.first_seq ?? '–'} to ${stats.head_seq ?? '–'})${stats.without_effect === 0 ? '' : `, ${number(stats.without_effect)} of them without effect (of unfinished transactions)`}`,
    `  time         ${stats.first_ts ?? '–'} to ${stats.last_ts ?? '–'}`,
    `  segments     ${number(stats.live_segments)} live, ${number(stats.archived_segments)} archived`,
    `  bytes        ${number(stats.bytes)} (${number(stats.stored_bytes)} on disk)`,
    `  largest      ${largest === null ? '–' : `${number(largest.bytes)} bytes, seq ${largest.seq}`}`,
    `  not records  ${number(stats.malformed)} malformed, ${number(stats.future)} of a later version`,
    `  checkpoints  ${stats.checkpoints.length === 0 ? 'none' : stats.checkpoints.map(({ head_seq }) => `seq ${head_seq}`).join(', ')}`,
    ...(stats.unreadable.length === 0
      ? []
      : [`  unreadable   ${stats.unreadable.map(name => safeText(name)).join(', ')}`]),
    ...table('entity types', stats.by_item_type),
    ...table('actions', stats.by_action),
    ...table('personas', stats.by_persona),
  ]
    .map(line => safeText(line))
    .join('\n')
}

function table(title: string, counts: RecordCounts): string[] {
  const rows = Object.entries(counts).sort(([, a], [, b]) => b - a)
  const rest = rows.slice(ROWS_MAX)
  const more = rest.length === 0 ? [] : [`    and ${rest.length} more`]
  return [
    `  ${title}`,
    ...rows
      .slice(0, ROWS_MAX)
      .map(([name, amount]) => `    ${amount.toLocaleString('en-US').padStart(10)}  ${name}`),
    ...more,
  ]
}

/** What happened in a journal, laid out in time, and what its parts are called wherever it is shown. */
import { formatCount, formatDuration } from '@kim/cli-kit'
import type { Findings } from '@kim/observer-sdk/verify'
import type { RedactMode } from '../redactor.js'

/** What a mark can be. */
export const MARK_KINDS = ['new', 'silent', 'backfill', 'read', 'removed', 'alert', 'event', 'other'] as const

/** One of them. */
export type MarkKind = (typeof MARK_KINDS)[number]

/** What a span can be. */
export type SpanKind = 'alert' | 'outage' | 'down' | 'run' | 'suspended' | 'no_producer' | 'gap'

/** Something that happened at a time. Columns, for there may be many. */
export interface Marks {
  /** Milliseconds since 1970, ascending. */
  readonly t: readonly number[]
  /** Index of a lane. */
  readonly lane: readonly number[]
  /** Index of a kind. */
  readonly kind: readonly number[]
  readonly seq: readonly number[]
  readonly label: readonly string[]
}

/** Marks that were too many, counted. */
export interface Bins {
  readonly width_ms: number
  /** Where each begins. */
  readonly t: readonly number[]
  readonly lane: readonly number[]
  readonly kind: readonly number[]
  readonly n: readonly number[]
}

/** Something that lasted. */
export interface TimelineSpan {
  readonly lane: number
  readonly kind: SpanKind
  readonly from: number
  /** Null while it lasts. */
  readonly to: number | null
  readonly from_seq: number
  readonly to_seq: number | null
  readonly label: string
}

/** The wall clock was set between two records. */
export interface ClockSet {
  readonly from_seq: number
  readonly to_seq: number
  /** By how much; negative: back. */
  readonly ms: number
}

/** A message that took long from creation to the journal. */
export interface SlowMessage {
  readonly ms: number
  readonly lane: number
  readonly seq: number
  /** When it was appended. */
  readonly t: number
  readonly label: string
}

/** How long messages took from creation to the journal, by two clocks. */
export interface Latency {
  /** Upper bound of each bin in ms; null for the last. */
  readonly upto_ms: readonly (number | null)[]
  readonly counts: readonly number[]
  readonly messages: number
  /** The server sent no valid time. */
  readonly unknown: number
  /** By the two clocks it was here before it was made. */
  readonly negative: number
}

/** A timeline. The first lane is the producer's. */
export interface Timeline {
  readonly title: string
  readonly created: string | null
  readonly project_id: string
  readonly redact: RedactMode
  readonly from_ms: number | null
  readonly to_ms: number | null
  readonly from_seq: number | null
  readonly to_seq: number | null
  readonly records: number
  /** Records that state no time. */
  readonly undated: number
  readonly lanes: readonly string[]
  readonly kinds: readonly MarkKind[]
  /** Per lane, how often each kind. */
  readonly counts: readonly (readonly number[])[]
  readonly marks: Marks | null
  /** In place of marks, where there are more than can be drawn. */
  readonly bins: Bins | null
  readonly spans: readonly TimelineSpan[]
  /** Spans that are left out. */
  readonly spans_left_out: number
  /** Where the wall clock of the producer's host was set: times before and after do not compare. */
  readonly clock_set: readonly ClockSet[]
  readonly latency: Latency
  /** The slowest first. */
  readonly slowest: readonly SlowMessage[]
  readonly missing: Findings
}

/** What the marks are. */
export const MARK_WORDS: Readonly<Record<MarkKind, string>> = {
  new: 'new messages',
  silent: 'messages not announced',
  backfill: 'backfilled messages',
  read: 'seen as read',
  removed: 'archived or removed',
  alert: 'alert records',
  event: 'other events',
  other: 'other records',
}

/** What the spans are. */
export const SPAN_WORDS: Readonly<Record<SpanKind, string>> = {
  alert: 'alert open',
  outage: 'inbox unreachable',
  down: 'persona down',
  run: 'producer ran',
  suspended: 'host suspended',
  no_producer: 'no producer ran',
  gap: 'records missing',
}

/** One bar of the histogram of latencies, in words. */
export function latencyRows({
  upto_ms,
  counts,
}: Latency): { readonly label: string; readonly count: number }[] {
  return upto_ms.map((upto, i) => ({
    label:
      upto === null ? `more than ${formatDuration(upto_ms[i - 1] ?? 0)}` : `up to ${formatDuration(upto)}`,
    count: counts[i] ?? 0,
  }))
}

const CLOCK_SET_SHOWN = 5

/** What has to be said about a timeline before anybody looks at it. */
export function caveats(timeline: Timeline): string[] {
  const { bins, undated, spans_left_out, clock_set, missing, latency, redact } = timeline
  const said: string[] = []
  if (bins !== null) {
    const width = formatDuration(bins.width_ms)
    said.push(`There are too many marks to draw each one, so they are counted in bins of ${width}.`)
  }
  if (undated > 0) said.push(`Not shown, because they have no time: ${formatCount(undated, 'record')}.`)
  if (spans_left_out > 0)
    said.push(`Left out, because there are too many: ${formatCount(spans_left_out, 'period')}.`)
  for (const { from_seq, to_seq, ms } of clock_set.slice(0, CLOCK_SET_SHOWN)) {
    const by = `${ms < 0 ? 'back' : 'forward'} by ${formatDuration(Math.abs(ms))}`
    said.push(
      `The wall clock was set ${by} between seq ${from_seq} and ${to_seq}. Do not compare times before it with times after it; a period that began before it and ended after it is shown as two.`,
    )
  }
  if (clock_set.length > CLOCK_SET_SHOWN) said.push(`And ${clock_set.length - CLOCK_SET_SHOWN} more times.`)
  const lacking = Object.entries(missing).map(([kind, { count }]) => `${kind} × ${count}`)
  if (lacking.length > 0) said.push(`The journal is incomplete: ${lacking.join(', ')}.`)
  const early = formatCount(latency.negative, 'message')
  if (latency.negative > 0) said.push(`Arrived before they were created, by the two clocks: ${early}.`)
  if (redact === 'all') said.push('Names and message bodies are removed.')
  if (redact === 'bodies') said.push('Message bodies are removed.')
  return said
}

/** A time as a record states it. */
export function iso(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

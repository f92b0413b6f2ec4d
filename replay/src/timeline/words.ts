/** What the parts of a timeline are called, wherever it is shown. */
import { formatCount, formatDuration } from '@kim/cli-kit'
import type { Latency, MarkKind, SpanKind, Timeline } from './timeline.js'

/** What the marks are. */
export const MARK_WORDS: Readonly<Record<MarkKind, string>> = {
  new: 'new messages',
  silent: 'messages without a wake',
  backfill: 'backfilled messages',
  read: 'read upstream',
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
export function caveats({
  bins,
  undated,
  spans_left_out,
  clock_set,
  missing,
  latency,
  redact,
}: Timeline): string[] {
  const lacking = Object.entries(missing).map(([kind, finding]) => `${kind} × ${finding.count}`)
  return [
    ...(bins === null
      ? []
      : [
          `There are too many marks to draw each one, so they are counted in bins of ${formatDuration(bins.width_ms)}.`,
        ]),
    ...(undated === 0 ? [] : [`Not shown, because they have no time: ${formatCount(undated, 'record')}.`]),
    ...(spans_left_out === 0
      ? []
      : [`Left out, because there are too many: ${formatCount(spans_left_out, 'period')}.`]),
    ...clock_set
      .slice(0, CLOCK_SET_SHOWN)
      .map(
        ({ from_seq, to_seq, ms }) =>
          `The wall clock was set ${ms < 0 ? 'back' : 'forward'} by ${formatDuration(Math.abs(ms))} between seq ${from_seq} and ${to_seq}. Do not compare times before it with times after it; longer periods are split there.`,
      ),
    ...(clock_set.length <= CLOCK_SET_SHOWN ? [] : [`And ${clock_set.length - CLOCK_SET_SHOWN} more times.`]),
    ...(lacking.length === 0 ? [] : [`The journal is incomplete: ${lacking.join(', ')}.`]),
    ...(latency.negative === 0
      ? []
      : [
          `Arrived before they were created, by the two clocks: ${formatCount(latency.negative, 'message')}.`,
        ]),
    ...(redact === 'none'
      ? []
      : [redact === 'all' ? 'Names and message bodies are removed.' : 'Message bodies are removed.']),
  ]
}

import { safeText } from '@kim/manifest'
import type { JournalStats, RecordCounts } from './stats.js'

/** The rows of a table that a person reads at once. */
const ROWS_MAX = 12

/** What a journal holds, for a person. Its lines are safe, each by itself: no text in the journal begins one. */
export function statsText(stats: JournalStats, eventsDir: string): string {
  const number = (amount: number): string => amount.toLocaleString('en-US')
  const largest = stats.largest_record
  return [
    eventsDir,
    `  records      ${number(stats.records)} (seq ${stats.first_seq ?? '–'} to ${stats.head_seq ?? '–'})`,
    `  time         ${stats.first_ts ?? '–'} to ${stats.last_ts ?? '–'}`,
    `  segments     ${number(stats.live_segments)} live, ${number(stats.archived_segments)} archived`,
    `  bytes        ${number(stats.bytes)} (${number(stats.stored_bytes)} on disk)`,
    `  largest      ${largest === null ? '–' : `${number(largest.bytes)} bytes, seq ${largest.seq}`}`,
    `  not records  ${number(stats.malformed)} malformed, ${number(stats.future)} of a later version, ${number(stats.without_effect)} without effect`,
    `  checkpoints  ${stats.checkpoints.length === 0 ? 'none' : stats.checkpoints.map(({ head_seq }) => `seq ${head_seq}`).join(', ')}`,
    ...(stats.unreadable.length === 0
      ? []
      : [`  unreadable   ${stats.unreadable.map(name => safeText(name)).join(', ')}`]),
    ...table('item types', stats.by_item_type),
    ...table('verbs', stats.by_action),
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

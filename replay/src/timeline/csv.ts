/** A timeline as rows for a spreadsheet. */
import { safeText } from '@kim/cli-kit'
import type { Timeline } from './timeline.js'

/** The rows, each with its line end, as RFC 4180 writes them. */
export function* timelineCsv(timeline: Timeline): Generator<string> {
  const { lanes, kinds, marks, bins, spans } = timeline
  yield row(['time', 'until', 'persona', 'kind', 'seq', 'until_seq', 'count', 'label'])
  for (const { from, to, lane, kind, from_seq, to_seq, label } of spans)
    yield row([
      iso(from),
      to === null ? '' : iso(to),
      lanes[lane] ?? '',
      kind,
      from_seq,
      to_seq ?? '',
      1,
      label,
    ])
  for (const [i, t] of (marks?.t ?? []).entries())
    yield row([
      iso(t),
      '',
      lanes[marks?.lane[i] ?? 0] ?? '',
      kinds[marks?.kind[i] ?? 0] ?? '',
      marks?.seq[i] ?? '',
      '',
      1,
      marks?.label[i] ?? '',
    ])
  for (const [i, t] of (bins?.t ?? []).entries())
    yield row([
      iso(t),
      iso(t + (bins?.width_ms ?? 0)),
      lanes[bins?.lane[i] ?? 0] ?? '',
      kinds[bins?.kind[i] ?? 0] ?? '',
      '',
      '',
      bins?.n[i] ?? 0,
      'binned',
    ])
}

function row(cells: readonly (string | number)[]): string {
  return `${cells.map(cell).join(',')}\r\n`
}

/** A text that a spreadsheet would take for a formula is made a text by a quote before it. */
function cell(value: string | number): string {
  if (typeof value === 'number') return String(value)
  const shown = safeText(value)
  const text = /^[=+\-@]/.test(shown) ? `'${shown}` : shown
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A time as a record states it. */
export function iso(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? '' : date.toISOString()
}

/** A timeline as rows for a spreadsheet, and as a page of Markdown. */
import { formatDuration, safeText } from '@kim/cli-kit'
import { caveats, iso, latencyRows, MARK_WORDS, SPAN_WORDS, type Timeline } from './timeline.js'

/** The rows, each with its line end, as RFC 4180 writes them. */
export function* timelineCsv({ lanes, kinds, marks, bins, spans }: Timeline): Generator<string> {
  const laneOf = (lane = 0): string => lanes[lane] ?? ''
  const kindOf = (kind = 0): string => kinds[kind] ?? ''
  yield row(['time', 'until', 'persona', 'kind', 'seq', 'until_seq', 'count', 'label'])
  for (const { from, to, lane, kind, from_seq, to_seq, label } of spans) {
    const until = to === null ? '' : iso(to)
    yield row([iso(from), until, laneOf(lane), kind, from_seq, to_seq ?? '', 1, label])
  }
  if (marks !== null) {
    const { lane, kind, seq, label } = marks
    for (const [i, t] of marks.t.entries())
      yield row([iso(t), '', laneOf(lane[i]), kindOf(kind[i]), seq[i] ?? '', '', 1, label[i] ?? ''])
  }
  if (bins !== null) {
    const { lane, kind, n, width_ms } = bins
    for (const [i, t] of bins.t.entries())
      yield row([iso(t), iso(t + width_ms), laneOf(lane[i]), kindOf(kind[i]), '', '', n[i] ?? 0, 'binned'])
  }
}

function row(cells: readonly (string | number)[]): string {
  return `${cells.map(cell).join(',')}\r\n`
}

/** A quote before a text that a spreadsheet would read as a formula makes it a text. */
function cell(value: string | number): string {
  if (typeof value === 'number') return String(value)
  const shown = safeText(value)
  const text = /^[=+\-@]/.test(shown) ? `'${shown}` : shown
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const ROWS_MAX = 1000

/** The page, in lines. */
export function* timelineMarkdown(timeline: Timeline): Generator<string> {
  const { title, from_ms, to_ms, lanes, kinds, counts, spans, latency, slowest, records, project_id } =
    timeline
  yield `# ${text(title)}\n\n`
  yield from_ms === null || to_ms === null
    ? 'The journal has no record of that time.\n\n'
    : `${iso(from_ms)} to ${iso(to_ms)}, ${records.toLocaleString('en-US')} records, project ${text(project_id)}\n\n`
  for (const caveat of caveats(timeline)) yield `- ${text(caveat)}\n`
  yield '\n## Who\n\n'
  yield `| persona | ${kinds.map(kind => MARK_WORDS[kind]).join(' | ')} |\n|---|${kinds.map(() => '---:').join('|')}|\n`
  for (const [lane, name] of lanes.entries())
    if (lane > 0) yield `| ${text(name)} | ${(counts[lane] ?? []).join(' | ')} |\n`
  yield '\n## Periods\n\n| from | until | persona | what | for | seq | |\n|---|---|---|---|---:|---|---|\n'
  for (const { from, to, lane, kind, from_seq, to_seq, label } of spans.slice(0, ROWS_MAX)) {
    const lasted = to === null ? 'still' : formatDuration(to - from)
    yield `| ${iso(from)} | ${to === null ? '' : iso(to)} | ${text(lanes[lane] ?? '')} | ${SPAN_WORDS[kind]} | ${lasted} | ${from_seq} to ${to_seq ?? ''} | ${text(label)} |\n`
  }
  if (spans.length > ROWS_MAX) yield `\nand ${spans.length - ROWS_MAX} more.\n`
  yield "\n## From creation to the journal\n\nBy two clocks: the server's, and this host's.\n\n| | messages |\n|---|---:|\n"
  for (const { label, count } of latencyRows(latency)) if (count > 0) yield `| ${label} | ${count} |\n`
  if (latency.unknown > 0) yield `| the server sent no valid time | ${latency.unknown} |\n`
  if (slowest.length === 0) return
  yield '\nThe slowest:\n\n| took | persona | what | seq | in the journal |\n|---:|---|---|---:|---|\n'
  for (const { ms, lane, seq, t, label } of slowest)
    yield `| ${formatDuration(ms)} | ${text(lanes[lane] ?? '')} | ${text(label)} | ${seq} | ${iso(t)} |\n`
}

/** Text that can be neither markup nor a cell's end. */
function text(value: string): string {
  return safeText(value)
    .replace(/[\\`*_{}[\]()#+!|<>~&$:@.-]/g, found => (PLAIN.has(found) ? found : `\\${found}`))
    .replaceAll('://', ':\\//')
}

/** Harmless inside a line; escaping them would only be ugly. */
const PLAIN: ReadonlySet<string> = new Set(['-', '.', ':', '(', ')', '+', '#', '!', '@', '$'])

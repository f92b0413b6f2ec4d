/** A timeline as one page that carries everything and may load nothing. */
import { createHash } from 'node:crypto'
import { formatCount, formatDuration, safeJson, safeText } from '@kim/cli-kit'
import { pageScript, pageStyle } from './page-assets.js'
import { caveats, iso, latencyRows, MARK_WORDS, SPAN_WORDS, type Timeline } from './timeline.js'

const SPAN_ROWS_MAX = 2000

/** The page, in pieces. */
export function* timelineHtml(timeline: Timeline): Generator<string> {
  const { title, from_ms, to_ms, records, project_id, kinds, lanes, counts, spans, bins } = timeline
  const range =
    from_ms === null || to_ms === null
      ? 'the journal has no record of that time'
      : `${iso(from_ms)} to ${iso(to_ms)}`
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '${hashOf(pageScript)}'; style-src '${hashOf(pageStyle)}'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${text(title)}</title>
<style>${pageStyle}</style>
</head>
<body>
<h1>${text(title)}</h1>
<p class="dim">${text(range)} · ${records.toLocaleString('en-US')} records · project ${text(project_id)}</p>
<ul>${caveats(timeline)
    .map(caveat => `<li>${text(caveat)}</li>`)
    .join('')}</ul>
<noscript><p>The picture needs scripts; the tables of periods, personas and waits do not.</p></noscript>
<h2 id="h-picture">What happened when</h2>
<div class="bar" role="group" aria-label="window"><button id="left" type="button">← earlier</button><button id="right" type="button">later →</button><button id="in" type="button">zoom in</button><button id="out" type="button">zoom out</button><button id="all" type="button">all</button><span id="window" class="dim"></span></div>
<div class="bar keys" role="group" aria-label="kinds">${kinds.map(kind => `<label><input type="checkbox" data-kind="${kind}" checked><span class="key k-${kind}"></span>${MARK_WORDS[kind]}</label>`).join(' ')}</div>
<div class="bar keys dim">${Object.entries(SPAN_WORDS)
    .map(([kind, words]) => `<span><span class="key s s-${kind}"></span>${words}</span>`)
    .join(' ')}</div>
<div><canvas id="picture" tabindex="0" role="application" aria-roledescription="timeline" aria-labelledby="h-picture" aria-describedby="keys"></canvas></div>
<p id="keys" class="dim">Drag or arrow keys to move, wheel or + and − to zoom, 0 for all, ${bins === null ? 'n and p for the next and previous mark, ' : ''}shift and wheel or up and down for more personas. All times are UTC. The table below shows the same window.</p>
<div id="tip" role="status" aria-live="polite"></div>
`
  yield `<h2 id="h-marks">Marks in this window</h2>
<div class="bar"><label>containing <input id="filter" type="search"></label><button id="prev" type="button">previous</button><button id="next" type="button">next</button><span id="count" class="dim"></span></div>
${scroll('h-marks')}<table><thead><tr><th>time</th><th class="n">seq</th><th>persona</th><th>kind</th><th>what</th></tr></thead><tbody id="rows"></tbody></table></div>
<h2 id="h-lasted">Periods</h2>
${scroll('h-lasted')}<table><thead><tr><th>from</th><th>until</th><th>for</th><th>persona</th><th>what</th><th>seq</th><th>why</th></tr></thead><tbody>
`
  for (const { from, to, lane, kind, from_seq, to_seq, label } of spans.slice(0, SPAN_ROWS_MAX)) {
    const lasted = to === null ? 'still' : formatDuration(to - from)
    yield `<tr><td>${iso(from)}</td><td>${to === null ? '' : iso(to)}</td><td>${lasted}</td><td class="w">${text(lanes[lane] ?? '')}</td><td>${SPAN_WORDS[kind]}</td><td>${from_seq}–${to_seq ?? ''}</td><td class="w">${text(label)}</td></tr>\n`
  }
  yield `</tbody></table></div>${spans.length > SPAN_ROWS_MAX ? `<p>and ${spans.length - SPAN_ROWS_MAX} more, in the picture</p>` : ''}
<h2 id="h-who">Personas</h2>
${scroll('h-who')}<table><thead><tr><th>persona</th>${kinds.map(kind => `<th class="n">${MARK_WORDS[kind]}</th>`).join('')}</tr></thead><tbody>
`
  for (const [lane, name] of lanes.entries()) {
    if (lane === 0) continue
    yield `<tr><td class="w">${text(name)}</td>${(counts[lane] ?? []).map(n => `<td class="n">${n}</td>`).join('')}</tr>\n`
  }
  yield `</tbody></table></div>
${latencyOf(timeline)}<script type="application/json" id="data">`
  yield* dataOf(timeline)
  yield `</script>
<script>${pageScript}</script>
</body>
</html>
`
}

/** The histogram, which is its own table. Bars that are empty before the first and after the last are left out. */
function latencyOf({ latency, lanes, slowest }: Timeline): string {
  const all = latencyRows(latency)
  const isSome = ({ count }: { readonly count: number }): boolean => count > 0
  const rows = all.slice(Math.max(0, all.findIndex(isSome)), all.findLastIndex(isSome) + 1)
  const most = Math.max(1, ...latency.counts)
  const bars = rows.map(
    ({ label, count }) =>
      `<tr><td>${label}</td><td class="n">${count}</td><td class="bar-cell"><meter min="0" max="${most}" value="${count}" aria-hidden="true"></meter></td></tr>`,
  )
  const table = `<div><table><thead><tr><th>within</th><th class="n">messages</th><th></th></tr></thead><tbody>${bars.join('\n')}</tbody></table></div>`
  return `<h2>From creation to the journal</h2>
<p class="dim">By two clocks: <code>created</code> is the server's, <code>ts</code> this host's. ${formatCount(latency.messages, 'announced message')}; for ${latency.unknown} of them the server sent no valid time.</p>
${rows.length === 0 ? '<p>There is no wait to show.</p>' : table}
${slowest.length === 0 ? '' : slowestOf(slowest, lanes)}`
}

/** Where to begin when somebody asks why it took so long: each is named by what `explain` takes. */
function slowestOf(slowest: Timeline['slowest'], lanes: readonly string[]): string {
  const rows = slowest.map(
    ({ ms, lane, seq, t, label }) =>
      `<tr><td class="n">${formatDuration(ms)}</td><td class="w">${text(lanes[lane] ?? '')}</td><td class="w">${text(label)}</td><td class="n">${seq}</td><td>${iso(t)}</td></tr>`,
  )
  return `<h2 id="h-slowest">The slowest</h2>
${scroll('h-slowest')}<table><thead><tr><th class="n">took</th><th>persona</th><th>what</th><th class="n">seq</th><th>in the journal</th></tr></thead><tbody>${rows.join('\n')}</tbody></table></div>
`
}

/** A table that scrolls, by keyboard too. */
function scroll(heading: string): string {
  return `<div class="scroll" tabindex="0" role="region" aria-labelledby="${heading}">`
}

/** The data, such that no text in it can end the element it stands in, nor play tricks where the script puts it. */
function* dataOf({ lanes, kinds, from_ms, to_ms, marks, bins, ...rest }: Timeline): Generator<string> {
  const names = lanes.map(name => safeText(name))
  const spans = rest.spans.map(span => ({ ...span, label: safeText(span.label) }))
  yield `{"lanes":${json(names)},"kinds":${json(kinds)},"from_ms":${json(from_ms)},"to_ms":${json(to_ms)},"kind_words":${json(MARK_WORDS)},"span_words":${json(SPAN_WORDS)},\n"bins":${json(bins)},\n"spans":${json(spans)},\n"marks":`
  if (marks === null) yield 'null'
  else {
    yield `{"t":${json(marks.t)},\n"lane":${json(marks.lane)},\n"kind":${json(marks.kind)},\n"seq":${json(marks.seq)},\n"label":[`
    for (const [i, label] of marks.label.entries()) yield `${i === 0 ? '' : ','}${json(safeText(label))}`
    yield ']}'
  }
  yield '}'
}

function json(value: unknown): string {
  return safeJson(JSON.stringify(value)).replaceAll('<', '\\u003c')
}

/** Text that can be nothing but text. */
function text(value: string): string {
  return safeText(value).replace(/[&<>"']/g, found => `&#${found.charCodeAt(0)};`)
}

function hashOf(source: string): string {
  return `sha256-${createHash('sha256').update(source).digest('base64')}`
}

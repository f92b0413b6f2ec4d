import { createHash } from 'node:crypto'
import t from 'tap'
import { JournalMaker } from '../../observer-sdk/dist-test/verify/journal-maker.js'
import { collectTimeline, openCopy, timelineCsv, timelineHtml, timelineMarkdown } from '../dist/internal.js'
import { openPage } from './page.js'

const SECRET = 'tell no one'
const HOSTILE = `</script><script>alert(1)</script><img src=x onerror=alert(1)>"'\`=cmd|' /C calc'!A0\u202e\u0000 ${SECRET}`
const everything = {
  fromMs: Number.NEGATIVE_INFINITY,
  toMs: Number.POSITIVE_INFINITY,
  personas: [],
  createdMs: undefined,
}

function journal(dir: string, messages: number, name = 'river'): ReturnType<typeof openCopy> {
  const maker = new JournalMaker()
  maker.note('producer_started', {})
  for (let id = 1; id <= messages; id++) {
    const payload = {
      schema_version: 1,
      persona: name,
      id,
      from: 'argus',
      content: HOSTILE,
      content_length: 1,
      created: '2026-06-10T14:00:00Z',
      read: false,
    }
    maker.add({
      agent: name,
      action: 'create',
      item_type: 'message',
      item_id: `${name}/${id}`,
      event: 'new',
      summary: `=${HOSTILE}`,
      payload,
    })
  }
  const alert = (status: string): object => ({
    schema_version: 1,
    persona: name,
    kind: 'unreachable',
    status,
    reason: HOSTILE,
  })
  maker.add({
    agent: name,
    action: 'create',
    item_type: 'alert',
    item_id: `${name}/unreachable`,
    event: 'alert',
    payload: alert('open') as never,
  })
  maker.add({
    agent: name,
    action: 'update',
    item_type: 'alert',
    item_id: `${name}/unreachable`,
    event: 'recovered',
    payload: alert('cleared') as never,
  })
  maker.note('producer_stopped', { reason: 'SIGTERM' })
  maker.writer = 'w_9-ee'
  maker.next += 2
  maker.note('producer_started', {})
  return openCopy(maker.write(dir))
}

t.test('CL-49 timeline - shows messages, outages, runs, gaps and waits', async t => {
  const copy = journal(t.testdir(), 5)
  const timeline = await collectTimeline(copy, { ...everything, mode: 'bodies', title: 'x' })
  t.same(timeline.lanes, ['(producer)', 'river'])
  t.same(timeline.counts[1]?.[0], 5)
  t.same(timeline.spans.map(({ kind, lane }) => [kind, lane]).sort(), [
    ['gap', 0],
    ['no_producer', 0],
    ['outage', 1],
    ['run', 0],
    ['run', 0],
  ])
  t.equal(timeline.latency.messages, 5)
  t.equal(timeline.missing.seq_hole?.count, 1)
  t.match(timeline.spans.find(({ kind }) => kind === 'gap')?.label, /seq 11 to 12 missing/)
  const later = { ...everything, fromMs: Date.parse('2100-01-01'), mode: 'bodies', title: 'x' } as const
  t.match(await collectTimeline(copy, later), { records: 0, from_ms: null })
  const unknown = { ...everything, personas: ['rivr'], mode: 'bodies', title: 'x' } as const
  await t.rejects(collectTimeline(copy, unknown), {
    code: 'gap_found',
    hint: /^did you mean river\? Known personas: river; seq_hole: seq 11…12 missing/,
  })
})

t.test(
  'CL-49 timeline - a persona that is called as the producer is shown has a lane of its own',
  async t => {
    const copy = journal(t.testdir(), 3, '(producer)')
    const timeline = await collectTimeline(copy, { ...everything, mode: 'bodies', title: 'x' })
    t.same(timeline.lanes, ['(producer)', '(producer)'])
    t.same(timeline.counts[1]?.[0], 3)
    t.same(new Set(timeline.marks?.lane), new Set([1]))
    t.match([...timelineMarkdown(timeline)].join(''), /^\| \(producer\) \| 3 \|/m)
  },
)

t.test('CL-49 timeline - names the ten slowest messages, the slowest first', async t => {
  const maker = new JournalMaker()
  const created = Date.parse('2026-06-10T14:00:00.000Z')
  const waits = [5, 9000, 20, 100, 80_000, 100, 30, 40, 7, 8, 60, 1_000_000, -5]
  for (const [at, wait] of waits.entries()) {
    const i = at + 1
    const payload = {
      ...{ schema_version: 1, persona: 'river', id: i, from: 'argus', content: 'x', content_length: 1 },
      ...{ read: false, created: new Date(created).toISOString() },
    }
    const message = {
      agent: 'river',
      action: 'create',
      item_type: 'message',
      item_id: `river/${i}`,
      event: 'new',
    }
    maker.add({ ...message, ts: new Date(created + wait).toISOString(), payload })
  }
  const copy = openCopy(maker.write(t.testdir()))
  const timeline = await collectTimeline(copy, { ...everything, mode: 'bodies', title: 'x' })
  t.same(
    timeline.slowest.map(({ ms }) => ms),
    [1_000_000, 80_000, 9000, 100, 100, 60, 40, 30, 20, 8],
  )
  t.match(timeline.slowest[0], { label: 'new message river/12', lane: 1 })
  t.same(
    timeline.slowest.filter(({ ms }) => ms === 100).map(({ label }) => label),
    ['new message river/4', 'new message river/6'],
  )
  t.match(
    [...timelineMarkdown(timeline)].join(''),
    /\| 16m 40s \| river \| new message river\/12 \| \d+ \| 2026/,
  )
  t.match([...timelineHtml(timeline)].join(''), /The slowest[\s\S]*16m 40s[\s\S]*new message river\/12/)
})

t.test('CL-49 timeline - shows where the host slept, and only there', async t => {
  const maker = new JournalMaker()
  const clocks = [
    [1000, 6000],
    [3000, 8000],
    // An hour passed, and the monotonic clock saw a second of it.
    [4000, 3_608_000],
    [4500, 3_608_900],
  ]
  for (const [mono_ms = 0, boot_ms = 0] of clocks) maker.add({ clock: { mono_ms, boot_ms } })
  const copy = openCopy(maker.write(t.testdir()))
  const request = { ...everything, mode: 'all', title: 'x' } as const
  const { spans } = await collectTimeline(copy, request)
  t.match(
    spans.filter(({ kind }) => kind === 'suspended'),
    [{ lane: 0, from_seq: 3, to_seq: 4, label: 'the host slept 59m 59s of that time' }],
  )
})

t.test(
  'CL-49 page - is one file with a policy that names its own script and style, and nothing to load',
  async t => {
    const copy = journal(t.testdir(), 3, `ri<b>ver</b> & "co"`)
    const timeline = await collectTimeline(copy, { ...everything, mode: 'none', title: HOSTILE })
    const html = [...timelineHtml(timeline)].join('')
    const page = openPage(html)
    const [style = '', script = ''] = [
      /<style>([\s\S]*?)<\/style>/.exec(html)?.[1],
      /<\/script>\n<script>([\s\S]*?)<\/script>/.exec(html)?.[1],
    ]
    for (const [name, source] of [
      ['script-src', script],
      ['style-src', style],
    ] as const) {
      const hash = createHash('sha256').update(source).digest('base64')
      t.ok(page.policy.includes(`${name} 'sha256-${hash}'`), name)
    }
    t.match(page.policy, /^default-src 'none'/)
    t.notMatch(page.policy, /unsafe|http/)
    t.equal(html.match(/<script/g)?.length, 2, 'the text of messages begins no element')
    const markup = html.replace(/(<(script|style)[^>]*>)[\s\S]*?(<\/\2>)/g, '$1$3')
    const tags = markup.match(/<[a-zA-Z][^>]*>/g) ?? []
    t.ok(tags.length > 50)
    t.same(
      tags.filter(tag =>
        /^<(img|b|a|iframe|object|link|base|form)\b|\s(on\w+|src|href|style|action)=/i.test(tag),
      ),
      [],
    )
    t.notMatch(html, /\u202e|\u0000|url\(|@import/)
    t.match(html, /&#60;\/script&#62;/, 'hostile text is shown as text')
    page.settle()
    page.settle()
    t.match(
      JSON.stringify(page.element('rows').children.map(row => row.children.map(cell => cell.textContent))),
      new RegExp(SECRET),
    )
  },
)

t.test('CL-49 forms - hostile text is text in Markdown, and no formula in a spreadsheet', async t => {
  const copy = journal(t.testdir(), 2, '=1+1|<i>')
  const timeline = await collectTimeline(copy, { ...everything, mode: 'none', title: HOSTILE })
  const markdown = [...timelineMarkdown(timeline)].join('')
  t.notMatch(markdown, /(?<!\\)<|[^\\]\|<|\u202e|\u0000/)
  const columns = markdown
    .split('\n')
    .filter(line => line.startsWith('| '))
    .map(line => line.replaceAll('\\|', '').split('|').length)
  t.ok(columns.length > 5 && columns.every(count => [11, 9, 7, 4].includes(count)), 'no cell is split')
  const rows = [...timelineCsv(timeline)]
  t.ok(rows.length > 5)
  t.notMatch(rows.join(''), /(^|,|\n)"?[=+\-@]/)
})

t.test('CL-9 page - what its script shows is escaped as what stands in its markup is', async t => {
  const copy = journal(t.testdir(), 2, 'ri\u202ever\n\u2028\u200b')
  const timeline = await collectTimeline(copy, { ...everything, mode: 'none', title: 'x' })
  const html = [...timelineHtml(timeline)].join('')
  const page = openPage(html)
  page.settle()
  page.settle()
  const shown = page.element('rows').children.flatMap(row => row.children.map(cell => cell.textContent))
  t.ok(shown.includes('ri\\u202ever\\n\\u2028\\u200b'), 'the name is that of the other tables')
  t.notMatch(shown.join(''), /[\u0000-\u001f\u202e\u2028\u200b]/)
  const data: unknown = JSON.parse(/id="data">([\s\S]*?)<\/script>/.exec(html)?.[1] ?? '')
  t.match(data, { lanes: ['(producer)', 'ri\\u202ever\\n\\u2028\\u200b'] })
  t.notMatch(
    JSON.stringify(data),
    /\\u00[01]|[^\\]\\u2|\u202e/,
    'nor is there another text that a picture could show',
  )
})

t.test('CL-49 timeline - what lasted before a window takes nothing from what lasted in it', async t => {
  const maker = new JournalMaker()
  const alert = (kind: string, status: string): void => {
    maker.add({
      agent: 'river',
      action: status === 'open' ? 'create' : 'update',
      item_type: 'alert',
      item_id: `river/${kind}`,
      event: status === 'open' ? 'alert' : 'recovered',
      payload: { schema_version: 1, persona: 'river', kind, status, reason: 'r' },
    })
  }
  for (let i = 0; i < 20_001; i++) for (const status of ['open', 'cleared']) alert('unreachable', status)
  alert('stranded-mail', 'open')
  const copy = openCopy(maker.write(t.testdir()))
  const request = { ...everything, mode: 'bodies', title: 'x' } as const
  const whole = await collectTimeline(copy, request)
  t.ok(whole.spans_left_out > 0, 'all together they are too many')
  const from = whole.to_ms ?? 0
  const { spans, spans_left_out } = await collectTimeline(copy, { ...request, fromMs: from })
  t.match(
    spans.filter(({ kind }) => kind === 'alert'),
    [{ label: 'stranded-mail: redacted', to: null }],
  )
  t.equal(spans_left_out, 0, 'and what is not asked for is not missed')
})

t.test('CL-51 timeline - what people wrote is nowhere in it, unless it is asked for', async t => {
  const copy = journal(t.testdir(), 3)
  for (const mode of ['bodies', 'all'] as const) {
    const timeline = await collectTimeline(copy, { ...everything, mode, title: 'x' })
    const all = [
      JSON.stringify(timeline),
      ...timelineHtml(timeline),
      ...timelineCsv(timeline),
      ...timelineMarkdown(timeline),
    ].join('')
    t.notMatch(all, new RegExp(SECRET))
    t.equal(all.includes('river'), mode === 'bodies')
  }
})

t.test('D8 CL-51 timeline - with --redact none it hides nothing that people wrote', async t => {
  const maker = new JournalMaker()
  const payload = { schema_version: 1, persona: 'river', id: 1, from: 'argus', content: SECRET, read: false }
  const summary = 'message 1 from argus'
  maker.add({ agent: 'river', action: 'create', item_type: 'message', item_id: 'river/1', summary, payload })
  const copy = openCopy(maker.write(t.testdir()))
  for (const mode of ['none', 'bodies'] as const) {
    const timeline = await collectTimeline(copy, { ...everything, mode, title: 'x' })
    for (const shown of [timelineHtml(timeline), timelineCsv(timeline), [JSON.stringify(timeline)]])
      t.equal([...shown].join('').includes(`${summary}: ${SECRET}`), mode === 'none', mode)
  }
})

t.test('CL-49 bins - too many marks are counted, and the page says so', async t => {
  const copy = journal(t.testdir(), 300)
  const request = { ...everything, mode: 'bodies', title: 'x', marksMax: 100 } as const
  const timeline = await collectTimeline(copy, request)
  t.equal(timeline.marks, null)
  t.equal(
    timeline.bins?.n.reduce((sum, n) => sum + n, 0),
    302,
  )
  const html = [...timelineHtml(timeline)].join('')
  t.match(html, /too many marks to draw each one/)
  t.notMatch(html, /n and p for/, 'no key is named that does nothing')
  const page = openPage(html)
  page.settle()
  t.ok(page.element('picture').painted > 100)
  t.ok(page.element('rows').children.length > 0)
})

t.test('CL-49 page - answers to keys and pointer, and paints no more than there are pixels', async t => {
  const copy = journal(t.testdir(), 2000)
  const timeline = await collectTimeline(copy, { ...everything, mode: 'bodies', title: 'x' })
  const page = openPage([...timelineHtml(timeline)].join(''))
  const picture = page.element('picture')
  page.settle()
  const window = page.element('window').textContent
  t.match(window, / to /)
  t.ok(picture.painted < 2 * 1200 + 100, `${picture.painted} rectangles`)
  t.equal(page.element('rows').children.length, 100)
  t.match(page.element('count').textContent, /1 to 100 of 2002/)
  page.element('next').onclick?.()
  page.settle()
  t.match(page.element('count').textContent, /101 to 200/)
  for (const key of ['+', 'ArrowRight', 'ArrowDown', '-', 'Home', 'End']) picture.fire('keydown', { key })
  page.settle()
  t.not(page.element('window').textContent, window)
  picture.fire('keydown', { key: '0' })
  page.settle()
  t.equal(page.element('window').textContent, window)
  picture.fire('keydown', { key: 'n' })
  t.match(page.element('tip').textContent, /seq 3 {2}river {2}new message river\/1/)
  picture.fire('wheel', { deltaY: -100, deltaX: 0, offsetX: 700, offsetY: 40 })
  picture.fire('pointerdown', { offsetX: 700, offsetY: 40, pointerId: 1 })
  picture.fire('pointermove', { offsetX: 600, offsetY: 40 })
  picture.fire('pointerup', { offsetX: 600, offsetY: 40 })
  page.settle()
  t.not(page.element('window').textContent, window)
  page.element('filter').value = 'river/77'
  page.element('filter').oninput?.()
  page.element('all').onclick?.()
  page.settle()
  t.match(page.element('count').textContent, /of 11 /)
})

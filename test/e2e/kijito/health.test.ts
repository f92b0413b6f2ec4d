import type { RuleEffect } from '@kim/example-kijito-sim'
import { complete, messageRow, NF, page, row, type Scene } from '../../kit/kijito/index.js'

const flags = [...NF, '--alert-after', '2']

/** Lets each fault last for two polls, with a healthy one in between; gives the reason that was told of each. */
async function reasonsOf(scene: Scene, faults: readonly RuleEffect[], times = 2): Promise<string[]> {
  scene.newest(
    complete(5),
    ...faults.flatMap(fault => [...Array<RuleEffect>(times).fill(fault), complete(5)]),
  )
  scene.start(flags)
  await scene.tells('recovered', faults.length)
  const opened = scene.records().filter(({ event, item_type }) => event === 'alert' && item_type === 'alert')
  return opened.map(({ payload }) => `${payload?.['reason']} after ${payload?.['consecutive_failures']}`)
}

/** What the journal tells of as many outages. */
function story(faults: number): string[] {
  const outages = Array.from({ length: faults }, () => ['alert unreachable', 'recovered'])
  return ['baseline_skipped', 'armed(5)', ...outages.flat()]
}

row('D1', 'a status that is no success is a failure (KS-17, KS-49)', {}, async (t, scene) => {
  const statuses = [500, 503, 429, 403, 401, 404]
  const reasons = await reasonsOf(
    scene,
    statuses.map(status => ({ status })),
  )
  t.equal(reasons.length, statuses.length)
  for (const [index, status] of statuses.entries()) {
    t.match(reasons[index], new RegExp(`^http ${status}\\b.* after 2$`))
  }
  t.same(scene.story(), story(statuses.length))
})

row('D1', 'an outage is announced once, however long it lasts (KS-49)', {}, async (t, scene) => {
  scene.newest(complete(5), { status: 500 })
  const producer = scene.start(flags)
  await scene.tells('alert unreachable')
  await scene.polls(3)
  t.same(scene.story(), ['baseline_skipped', 'armed(5)', 'alert unreachable'])
  t.equal(producer.code, undefined)
})

row('D2', 'a redirect is a failure, and is not followed (KS-5)', {}, async (t, scene) => {
  const reasons = await reasonsOf(scene, [
    { status: 302, headers: { location: '/api/inbox?persona=argus&mark_read=true' } },
    { status: 301 },
    { status: 307, headers: { location: '/elsewhere' } },
    { status: 304 },
  ])
  t.equal(reasons.length, 4)
  for (const reason of reasons) t.match(reason, /^redirect\b.* after 2$/)
  t.same(scene.story(), story(4))
  for (const { path, query } of scene.asked()) {
    t.equal(path, '/api/inbox')
    t.equal(query['mark_read'], 'false')
  }
})

row('D3', 'a body that is no JSON is a failure (KS-9, KS-17)', {}, async (t, scene) => {
  const reasons = await reasonsOf(scene, [
    { status: 204 },
    { text: '' },
    { text: 'down for maintenance' },
    { text: '{"result":[{"id":5' },
    { base64: Buffer.from([0x7b, 0xff, 0xfe, 0x7d]).toString('base64') },
  ])
  t.equal(reasons.length, 5)
  for (const reason of reasons) t.match(reason, /^parse-fail\b.* after 2$/)
  t.same(scene.story(), story(5))
})

row('D4', 'a body of another shape is a failure (KS-16, KS-17)', {}, async (t, scene) => {
  const reasons = await reasonsOf(scene, [
    { json: [1] },
    { json: null },
    { json: {} },
    { json: { result: {} } },
  ])
  t.equal(reasons.length, 4)
  for (const reason of reasons) t.match(reason, /^shape-invalid\b.* after 2$/)
  t.same(scene.story(), story(4))
})

row('D5', 'a row without a usable id fails the page (KS-16)', {}, async (t, scene) => {
  const ids = ['5', true, 5.5, -5, 0, null]
  const reasons = await reasonsOf(scene, [
    { json: { result: [1], next_before_id: null } },
    { json: { result: [{}], next_before_id: null } },
    ...ids.map(id => page([messageRow(id)])),
  ])
  t.equal(reasons.length, 8)
  for (const reason of reasons) t.match(reason, /^shape-invalid\b.* after 2$/)
  t.same(scene.silent(), [5])
})

row(
  'D6',
  'an id that stands twice fails the page, and nothing of it is taken (KS-16)',
  {},
  async (t, scene) => {
    const reasons = await reasonsOf(scene, [page([5, 6, 6])])
    t.match(reasons, [/^shape-invalid\b.* after 2$/])
    t.same(scene.story(), story(1))
    t.same(scene.silent(), [5])
  },
)

row('D7', 'a connection that breaks is a failure (KS-17)', {}, async (t, scene) => {
  // The first of each hits a connection that was used before: it is tried again, and that is no failure (KS-7).
  const reasons = await reasonsOf(scene, [{ wire: { kind: 'reset' } }, { wire: { kind: 'close' } }], 3)
  t.equal(reasons.length, 2)
  await scene.tell({ do: 'refuse' })
  await scene.tells('alert unreachable', 3)
  await scene.tell({ do: 'open' })
  await scene.tells('recovered', 3)
  const { reason } = scene.alert('unreachable') ?? {}
  for (const text of [...reasons, reason]) t.match(text, /^unreachable\b/)
  t.same(scene.story(), story(3))
})

row('D8', 'no byte within the deadline is a failure (KS-6)', {}, async (t, scene) => {
  const reasons = await reasonsOf(scene, [{ wire: { kind: 'hang' } }])
  t.match(reasons, [/^unreachable: the server sent no data for 5 s after 2$/])
  t.same(scene.story(), story(1))
})

row('D9', 'what is no HTTP is a failure (KS-9)', {}, async (t, scene) => {
  const reasons = await reasonsOf(scene, [{ wire: { kind: 'garbage', text: '220 mail ready\r\n\r\n' } }])
  t.match(reasons, [/^unreachable\b.* after 2$/])
  t.same(scene.story(), story(1))
})

row('D10', 'a body that ends early is a failure (KS-9)', {}, async (t, scene) => {
  const reasons = await reasonsOf(scene, [
    { ...complete(5, 6), wire: { kind: 'short', missing: 10 } },
    { ...complete(5, 6), wire: { kind: 'broken-chunk' } },
  ])
  t.equal(reasons.length, 2)
  for (const reason of reasons) t.match(reason, /^unreachable\b.* after 2$/)
  t.same(scene.silent(), [5], 'nothing of it is taken')
})

row('D11', 'nesting without end is a failure (KS-9)', {}, async (t, scene) => {
  const reasons = await reasonsOf(scene, [
    { text: '['.repeat(100_000) },
    { text: `{"result":${'['.repeat(300)}${']'.repeat(300)}}` },
  ])
  t.equal(reasons.length, 2)
  for (const reason of reasons) t.match(reason, /^parse-fail\b.* after 2$/)
})

row('D12', 'a drip of single bytes ends within the total deadline (KS-6)', {}, async (t, scene) => {
  scene.newest(complete(5), { ...complete(5), wire: { kind: 'drip', everyMs: 2000, bytes: 1 } })
  scene.start([...NF, '--alert-after', '1'])
  await scene.tells('alert unreachable')
  t.match(scene.alert('unreachable'), { reason: /^unreachable: no complete answer within 30 s/ })
})

row(
  'D13',
  'an id beyond what numbers hold fails the page and moves nothing (KS-16)',
  {},
  async (t, scene) => {
    const text = '{"result":[{"id":99999999999999999999999}],"next_before_id":null}'
    const reasons = await reasonsOf(scene, [{ text }])
    t.match(reasons, [/^shape-invalid\b.* after 2$/])
    scene.clear()
    scene.newest(complete(5, 6))
    await scene.tells('new 6')
    t.same(scene.story(), [...story(1), 'new 6'])
  },
)

row(
  'D14',
  'ids that come back lower are an alarm at once (KS-39)',
  { standing: { cursor: 100 } },
  async (t, scene) => {
    scene.newest(complete(100), complete(1, 2), complete(100, 101))
    scene.start(NF)
    await scene.tells('new 101')
    await scene.tells('cleared id-regressed')
    t.same(scene.story(), ['armed(100)', 'alert id-regressed', 'new 101', 'cleared id-regressed'])
    const [opened] = scene.records().filter(({ item_id }) => item_id === 'argus/id-regressed')
    t.match(opened?.payload, { current_max: 2, cursor_at: 100 })
  },
)

row(
  'D14',
  'so is a lower one beside the highest, which never comes in (KS-39)',
  { standing: { cursor: 100 } },
  async (t, scene) => {
    const poisoned = Number.MAX_SAFE_INTEGER
    scene.newest(complete(100), complete(100, poisoned), complete(100, 101, poisoned))
    const producer = scene.start(NF)
    await scene.tells('alert id-regressed')
    await scene.polls(2)
    t.same(scene.story(), ['armed(100)', `new ${poisoned}`, 'alert id-regressed'])
    t.equal(producer.stderr.match(/"id-regressed"/g)?.length, 1, 'the log says it once')
  },
)

row('D15', 'any success is one, and a byte order mark is nothing (KS-16)', {}, async (t, scene) => {
  const text = (...ids: number[]): string => JSON.stringify((complete(...ids) as { json: unknown }).json)
  scene.newest(complete(5), { ...complete(5, 6), status: 206 }, { text: `\ufeff${text(5, 6, 7)}` })
  scene.start([...NF, '--alert-after', '1'])
  await scene.tells('new 7')
  t.same(scene.story(), ['baseline_skipped', 'armed(5)', 'new 6', 'new 7'])
})

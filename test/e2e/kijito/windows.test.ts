import type { RuleEffect } from '@kim/example-kijito-sim'
import type { Test } from 'tap'
import { complete, cut, NF, page, row, type Scene } from '../../kit/kijito/index.js'

const standing = { cursor: 100 }
const alarm = 'alert bounded-window'
const news = (...ids: readonly number[]): string[] => ids.map(id => `new ${id}`)
const walks = (scene: Scene): string[] =>
  scene
    .asked({ endpoint: 'inbox', page: 'walk', unread_only: false })
    .map(({ query }) => query['before_id'] ?? '')

/** The hole stays open: it is announced once, what was seen is news once, and the watermark stays. */
async function staysOpen(t: Test, scene: Scene, ...ids: readonly number[]): Promise<void> {
  scene.start(NF)
  await scene.tells(`new ${ids.at(-1)}`)
  await scene.polls(3)
  t.same(scene.story(), ['armed(100)', alarm, ...news(...ids)])
  t.match(scene.alert('bounded-window'), { status: 'open', pinned: true, cursor_at: 100 })
}

/** The hole is closed in the poll that saw it: nothing is announced but the news. */
async function closes(t: Test, scene: Scene, ...ids: readonly number[]): Promise<void> {
  scene.start(NF)
  await scene.tells(`new ${ids.at(-1)}`)
  const before = walks(scene).length
  await scene.polls(2)
  t.same(scene.story(), ['armed(100)', ...news(...ids)])
  t.equal(walks(scene).length, before, 'there is nothing left to walk')
}

row('G1', 'a hole is walked to the watermark (KS-23)', { standing }, async (t, scene) => {
  scene.newest(cut(200, 260))
  scene.walk(200, cut(120, 150))
  scene.walk(120, complete(90, 100))
  await closes(t, scene, 120, 150, 200, 260)
  t.same(walks(scene), ['200', '120'])
})

row('G2', 'or to the end of the inbox (KS-23)', { standing }, async (t, scene) => {
  scene.newest(cut(200))
  scene.walk(200, complete(150))
  await closes(t, scene, 150, 200)
})

row('G3', 'rows that the budget dropped are a hole too (KS-20)', { standing }, async (t, scene) => {
  scene.newest(page([200], { size_dropped: 2, size_truncated: true, next_before_id: 200 }))
  scene.walk(200, complete(150, 160))
  await closes(t, scene, 150, 160, 200)
})

row('G4', 'an empty page that ends the inbox covers it (KS-23)', { standing }, async (t, scene) => {
  scene.newest(cut(200))
  scene.walk(200, complete())
  await closes(t, scene, 200)
})

row(
  'G5',
  'a page that fails leaves it open, announced once (KS-23, KS-25, KS-27)',
  { standing },
  async (t, scene) => {
    scene.newest(cut(200))
    scene.walk(200, { status: 500 }, { status: 404 }, { status: 400 })
    await staysOpen(t, scene, 200)
    t.match(scene.alert('bounded-window'), { window_floor: 200, reconciled: 0 })
  },
)

row('G6', 'a page without a continuation does not end the inbox (KS-23)', { standing }, async (t, scene) => {
  scene.newest(cut(200))
  scene.walk(200, page([150], { next_before_id: undefined }))
  await staysOpen(t, scene, 150, 200)
})

row('G7', 'nor does one whose continuation is none (KS-23)', { standing }, async (t, scene) => {
  scene.newest(cut(200))
  const odd = ['150', 1.5, true, -1, []].map(next_before_id =>
    page([150], { truncated: true, next_before_id }),
  )
  scene.rule({ on: { endpoint: 'inbox', page: 'walk' }, effect: odd })
  await staysOpen(t, scene, 150, 200)
  await scene.polls(3)
  t.same(scene.story(), ['armed(100)', alarm, ...news(150, 200)])
})

row('G8', 'a continuation that is not the lowest id skips rows (KS-23)', { standing }, async (t, scene) => {
  scene.newest(cut(200))
  const skips = [120, 160].map(next_before_id => page([150], { truncated: true, next_before_id }))
  scene.walk(200, ...skips)
  await staysOpen(t, scene, 150, 200)
  const opened = scene
    .records()
    .find(({ item_id, event }) => item_id === 'argus/bounded-window' && event === 'alert')
  t.match(opened?.payload, { reconciled: 1 })
})

row('G9', 'an empty page that goes on proves nothing (KS-23)', { standing }, async (t, scene) => {
  scene.newest(cut(200))
  scene.walk(200, page([], { truncated: true, next_before_id: 150 }))
  await staysOpen(t, scene, 200)
  t.notOk(walks(scene).includes('150'))
})

row('G10', 'withheld rows and an end contradict each other (KS-23)', { standing }, async (t, scene) => {
  scene.newest(cut(200))
  scene.walk(200, page([150], { truncated: true }))
  await staysOpen(t, scene, 150, 200)
})

row('G11', 'so do a whole page and a continuation (KS-23)', { standing }, async (t, scene) => {
  scene.newest(cut(200))
  scene.walk(200, page([150], { next_before_id: 150 }))
  await staysOpen(t, scene, 150, 200)
})

row('G12', 'a page that does not get lower is left at once (KS-23)', { standing }, async (t, scene) => {
  scene.newest(cut(200))
  scene.walk(200, cut(200))
  await staysOpen(t, scene, 200)
  const polls = scene.asked({ endpoint: 'inbox', page: 'newest' }).length
  t.ok(walks(scene).length <= polls, 'one page a poll')
})

row(
  'G13',
  'a page that reaches the watermark but skips rows does not cover (KS-23)',
  { standing },
  async (t, scene) => {
    scene.newest(cut(200))
    scene.walk(200, page([90, 150], { truncated: true, next_before_id: 80 }))
    await staysOpen(t, scene, 150, 200)
  },
)

const deep = { standing: { cursor: 0 }, settings: { pageRows: 1 } }
const replay = [...NF, '--max-replay', '100000']

row('G14', 'a walk takes fifty pages a poll and stays open (KS-23, KS-25)', deep, async (t, scene) => {
  for (let sent = 0; sent < 400; sent++) scene.send('argus')
  scene.start(replay)
  await scene.polls(2)
  const asked = scene.asked({ endpoint: 'inbox' }).map(({ query }) => query['before_id'])
  const [first = 0, second = 0] = asked.flatMap((before, index) => (before === undefined ? [index] : []))
  t.equal(second - first - 1, 50)
  t.match(scene.alert('bounded-window'), { status: 'open', cursor_at: 0 })
  t.equal(scene.story().filter(line => line === alarm).length, 1)
})

row('G15', 'it goes on at the next poll until it has seen all (KS-25, KS-26)', deep, async (t, scene) => {
  for (let sent = 0; sent < 121; sent++) scene.send('argus')
  scene.start(replay)
  await scene.tells('cleared bounded-window')
  const story = scene.story()
  t.equal(story.filter(line => line.startsWith('new ')).length, 121)
  t.equal(walks(scene).length, 120, 'no page is asked for twice')
})

row(
  'G16',
  'a page with rows above what was asked for is not taken (KS-23)',
  { standing },
  async (t, scene) => {
    scene.newest(cut(200))
    scene.walk(200, complete(100, 150, 250))
    await staysOpen(t, scene, 200)
  },
)

row('G17', 'a newest page that contradicts itself leaves a hole (KS-20)', { standing }, async (t, scene) => {
  scene.newest(page([200], { next_before_id: 200 }))
  scene.walk(200, { status: 500 })
  await staysOpen(t, scene, 200)
})

row('G18', 'a walk can close it all the same (KS-24)', { standing }, async (t, scene) => {
  scene.newest(page([200], { truncated: true }))
  scene.walk(200, complete(150))
  await closes(t, scene, 150, 200)
})

row('G19', 'a hosted page without a continuation affirms nothing (KS-20)', { standing }, async (t, scene) => {
  scene.newest(page([200], { next_before_id: undefined }))
  scene.walk(200, page([], { next_before_id: undefined }))
  await staysOpen(t, scene, 200)
})

row('G20', 'unless it reaches back to the watermark (KS-22)', { standing }, async (t, scene) => {
  scene.newest(page([100, 200], { next_before_id: undefined }))
  await closes(t, scene, 200)
  t.same(walks(scene), [])
})

const UNREADABLE = {
  'truncated is a word': { truncated: 'yes' },
  'truncated is null': { truncated: null },
  'size_truncated stands alone': { size_truncated: true, size_dropped: undefined },
}

for (const [what, more] of Object.entries(UNREADABLE)) {
  row('G21', `${what}: at least one row is missing (KS-20)`, { standing }, async (t, scene) => {
    scene.newest(page([200], more))
    scene.walk(200, { status: 500 })
    await staysOpen(t, scene, 200)
  })
}

row('G22', 'a clipped body is no missing row (KS-20, KS-43)', { standing }, async (t, scene) => {
  scene.newest(page([200], { size_truncated: true }))
  await closes(t, scene, 200)
  t.same(walks(scene), [])
  t.match(scene.payload('message', 'argus/200'), { clipped: true })
})

row(
  'G23',
  'a count of dropped rows that is none means at least one (KS-20)',
  { standing },
  async (t, scene) => {
    scene.newest(page([200], { size_dropped: '3' }))
    scene.walk(200, { status: 500 })
    await staysOpen(t, scene, 200)
  },
)

row(
  'G24',
  'what is withheld below the watermark is old (KS-22)',
  { standing: { cursor: 150 } },
  async (t, scene) => {
    scene.newest(cut(120, 150, 160))
    scene.start(NF)
    await scene.tells('new 160')
    await scene.polls(2)
    t.same(scene.story(), ['armed(150)', 'new 160'])
    t.same(walks(scene), [])
  },
)

row('G25', 'an empty window that withholds rows is a failure (KS-21)', { standing }, async (t, scene) => {
  scene.newest(page([], { truncated: true, next_before_id: 100 }))
  scene.start([...NF, '--alert-after', '2'])
  await scene.tells('alert unreachable')
  t.match(scene.alert('unreachable'), { reason: /^shape-invalid/ })
  t.same(scene.story(), ['alert unreachable'])
})

row('G26', 'a window that reaches back closes a pin (KS-26)', { standing }, async (t, scene) => {
  scene.newest(cut(200), cut(200), complete(90, 200, 210))
  scene.walk(200, { status: 500 })
  scene.start(NF)
  await scene.tells('cleared bounded-window')
  t.same(scene.story(), ['armed(100)', alarm, ...news(200, 210), 'cleared bounded-window'])
})

row('G27', 'a floor that rises is not announced again (KS-27)', { standing }, async (t, scene) => {
  scene.newest(cut(200), cut(210), cut(220), cut(230))
  scene.rule({ on: { endpoint: 'inbox', page: 'walk' }, effect: { status: 500 } })
  scene.start(NF)
  await scene.tells('new 230')
  await scene.polls(1)
  t.same(scene.story(), ['armed(100)', alarm, ...news(200, 210, 220, 230)])
})

const pin = {
  omitted: 1,
  window_floor: 200,
  cursor_at: 100,
  reconciled: 0,
  pinned: true,
  walk: { next_before_id: 200, proven_down_to: 200 },
}
const pinned = { cursor: 100, above: [200, 201], open: { 'bounded-window': pin } }

row(
  'G28',
  'a pin outlives a restart: nothing is repeated, capped or announced again (KS-27, KS-34)',
  { standing: pinned },
  async (t, scene) => {
    scene.newest(cut(200, 201, 202))
    scene.walk(200, { status: 500 })
    // Nothing would be news but for the pin.
    scene.start([...NF, '--max-replay', '0'])
    await scene.tells('new 202')
    await scene.polls(2)
    t.same(scene.story(), ['armed(100)', ...news(202)])
    t.match(scene.alert('bounded-window'), { status: 'open', cursor_at: 100 })
  },
)

row('G29', 'and is closed by a walk after it (KS-25, KS-26)', { standing: pinned }, async (t, scene) => {
  scene.newest(cut(200, 201, 202))
  scene.walk(200, complete(100, 150))
  scene.start(NF)
  await scene.tells('cleared bounded-window')
  await scene.polls(1)
  t.same(scene.story(), ['armed(100)', ...news(150, 202), 'cleared bounded-window'])
})

row(
  'G30',
  'then the watermark is the highest that stands: nothing is walked again (KS-26)',
  { standing: pinned },
  async (t, scene) => {
    scene.newest(cut(200, 201))
    scene.walk(200, complete(100, 150))
    scene.start(NF)
    await scene.tells('cleared bounded-window')
    const before = walks(scene).length
    await scene.polls(2)
    t.equal(walks(scene).length, before)
    t.same(scene.story(), ['armed(100)', ...news(150), 'cleared bounded-window'])
  },
)

/** A backlog over the cap, some of it behind a walk: recorded whole, announced by numbers alone. */
function capped(newest: RuleEffect, older: RuleEffect, ids: readonly number[]) {
  return async (t: Test, scene: Scene): Promise<void> => {
    scene.newest(newest)
    scene.walk(200, older)
    scene.start([...NF, '--max-replay', '2'])
    const highest = ids.at(-1)
    await scene.tells(`armed(${highest})`)
    await scene.polls(1)
    t.same(scene.story(), ['replay_capped', `armed(${highest})`])
    t.match(scene.told('replay_capped'), { capped_to: highest, dropped: ids.length })
    t.same(scene.silent(), ids)
  }
}

row(
  'G31',
  'a backlog over the cap is walked and recorded silently (KS-29, KS-34)',
  { standing },
  capped(cut(200, 201, 202), complete(100, 150), [150, 200, 201, 202]),
)

const between = Array.from({ length: 99 }, (_, at) => 101 + at)

row(
  'G32',
  'what only the walk shows counts against the cap too (KS-34)',
  { standing },
  capped(cut(200, 201), complete(...between), [...between, 200, 201]),
)

const many = Array.from({ length: 5001 }, (_, at) => 900 + at)

row(
  'G34',
  'any number of messages above a pin is known (KS-26, KS-29)',
  { standing: { cursor: 0, above: many, open: { 'bounded-window': { ...pin, cursor_at: 0 } } } },
  async (t, scene) => {
    scene.newest(cut(6000), cut(900, 5900, 6000))
    scene.rule({ on: { endpoint: 'inbox', page: 'walk' }, effect: { status: 500 } })
    scene.start(NF)
    await scene.tells('new 6000')
    await scene.polls(3)
    t.same(scene.story(), ['armed(0)', ...news(6000)])
  },
)

row(
  'G35',
  'on the local dialect every window is whole (KS-1, KS-20)',
  { settings: { dialect: 'local' } },
  async (t, scene) => {
    scene.start([...NF, '--dialect', 'local'])
    await scene.tells('armed(0)')
    for (const id of [5, 6]) scene.send('argus', 'river', { id })
    await scene.tells('new 6')
    await scene.polls(1)
    t.same(scene.story(), ['armed(0)', ...news(5, 6)])
    t.same(walks(scene), [])
  },
)

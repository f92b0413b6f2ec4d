import type { Page } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { CoreHarness, cut, failure, type RowLike, type Script, whole } from './core-harness.js'
import { loseLines } from './lose-lines.js'

const span = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n)

/** What an inbox answers below an id; the newest page under `newest`. */
type Pages = Readonly<Record<string, Page | ReturnType<typeof failure>>>

const scripted =
  (pages: Pages): Script['page'] =>
  ({ beforeId }) =>
    pages[beforeId === undefined ? 'newest' : String(beforeId)] ?? failure(400)

/** S(100): argus was armed at 100, and then its inbox is as given. */
function at100(t: Test, pages: Pages, options = {}): CoreHarness {
  const desk = new CoreHarness(t, options, { page: () => whole([100]) }).settle()
  desk.story()
  desk.script.page = scripted(pages)
  return desk.restart().settle()
}

const pinOf = (desk: CoreHarness): Readonly<Record<string, unknown>> | undefined =>
  desk.payload('alert', 'argus/bounded-window')

t.test(
  'walk - one that comes down to the watermark closes the hole in its poll (KS-22, KS-23; G1 to G4)',
  async t => {
    const g1 = at100(t, { newest: cut([200, 260]), 200: cut([120, 150]), 120: whole([90, 100]) })
    t.same(g1.story(), ['armed 100', 'new 120', 'new 150', 'new 200', 'new 260'])
    t.same(g1.pages(), ['newest', 'newest', 200, 120])
    t.same(at100(t, { newest: cut([200]), 200: whole([150]) }).story(), ['armed 100', 'new 150', 'new 200'])
    t.same(at100(t, { newest: cut([200], { omitted: 2, isExact: true }), 200: whole([150, 160]) }).story(), [
      ...['armed 100', 'new 150', 'new 160', 'new 200'],
    ])
    t.same(at100(t, { newest: cut([200]), 200: whole([]) }).story(), ['armed 100', 'new 200'])
  },
)

const unreadable = { continuation: { kind: 'unreadable' }, omitted: 1, isExact: false } as const
const pinned: Readonly<Record<string, { readonly pages: Pages; readonly found?: readonly number[] }>> = {
  'G5 the page fails': { pages: { newest: cut([200]), 200: failure(500) } },
  'G6 no continuation': { pages: { newest: cut([200]), 200: whole([], unreadable) } },
  'G7 an unreadable one': { pages: { newest: cut([200]), 200: whole([150], unreadable) }, found: [150] },
  'G8 one below its rows': {
    pages: { newest: cut([200]), 200: cut([150], { continuation: { kind: 'more', beforeId: 120 } }) },
    found: [150],
  },
  'G8 one above its rows': {
    pages: { newest: cut([200]), 200: cut([150], { continuation: { kind: 'more', beforeId: 160 } }) },
    found: [150],
  },
  'G9 an empty page with a continuation': {
    pages: { newest: cut([200]), 200: cut([], { continuation: { kind: 'more', beforeId: 150 } }) },
  },
  'G10 withheld and nothing older': {
    pages: { newest: cut([200]), 200: cut([150], { continuation: { kind: 'end' }, isContradictory: true }) },
    found: [150],
  },
  'G11 nothing withheld and a continuation': {
    pages: {
      newest: cut([200]),
      200: whole([150], { continuation: { kind: 'more', beforeId: 150 }, isContradictory: true, omitted: 1 }),
    },
    found: [150],
  },
  'G12 a row that was not asked for': { pages: { newest: cut([200]), 200: cut([200]) } },
  'G13 it reaches the watermark but skips': {
    pages: { newest: cut([200]), 200: cut([90, 150], { continuation: { kind: 'more', beforeId: 80 } }) },
    found: [150],
  },
  'G16 a row above the page asked for': { pages: { newest: cut([200]), 200: whole([100, 150, 250]) } },
  'G17 a contradictory window': {
    pages: { newest: cut([200], { isContradictory: true }), 200: failure(500) },
  },
  'G19 a window without continuation': {
    pages: { newest: whole([200], unreadable), 200: whole([], unreadable) },
  },
}

for (const [name, { pages, found = [] }] of Object.entries(pinned)) {
  t.test(
    `pin - ${name}: announced once, each message once, the watermark stays (KS-23 to KS-27)`,
    async t => {
      const desk = at100(t, pages, { maxReplay: 100 })
      const news = [...found, 200].map(id => `new ${id}`)
      t.same(desk.story(), ['armed 100', 'alert bounded-window', ...news])
      t.match(pinOf(desk), {
        status: 'open',
        pinned: true,
        cursor_at: 100,
        window_floor: 200,
        reconciled: found.length,
      })
      t.equal(desk.core.status().personas[0]?.watermark, 100)
      desk.pass(3000)
      t.same(desk.story(), [], 'over any number of polls')
      t.same(desk.restart().settle().story(), ['armed 100'], 'and after a restart')
    },
  )
}

t.test('pin - a window that reaches down clears it (KS-22, KS-26; G26)', async t => {
  const desk = at100(t, { newest: cut([200]), 200: failure() })
  desk.story()
  desk.script.page = scripted({ newest: whole([100, 200, 210]) })
  t.same(desk.pass(1000).story(), ['new 210', 'cleared bounded-window'])
  t.equal(desk.core.status().personas[0]?.watermark, 210)
})

t.test('pin - the floor may drift: one alarm in all (KS-27; G27)', async t => {
  const desk = at100(t, { newest: cut([200]), 200: failure() })
  desk.story()
  desk.script.page = scripted({ newest: cut([200, 210]), 200: failure() })
  t.same(desk.pass(1000).story(), ['new 210'])
  desk.script.page = scripted({ newest: cut([210, 220]), 210: failure(), 200: failure() })
  t.same(desk.pass(1000).story(), ['new 220'])
})

t.test(
  'pin - after a restart neither announced, nor capped, nor repeated (KS-27, KS-34; G28, G29, G30)',
  async t => {
    const desk = at100(t, { newest: cut([200, 201]), 200: failure() })
    desk.story()
    desk.script.page = scripted({ newest: cut([200, 201, 202]), 200: failure() })
    t.same(desk.restart({ maxReplay: 0 }).settle().story(), ['armed 100', 'new 202'])
    desk.script.page = scripted({ newest: cut([200, 201, 202]), 200: whole([100, 150]) })
    t.same(desk.restart().settle().story(), ['armed 100', 'new 150', 'cleared bounded-window'])
    t.equal(desk.core.status().personas[0]?.watermark, 202)
    t.same(desk.restart().settle().story(), ['armed 202'])
  },
)

t.test('walk - the steady state and a clipped body leave no hole (KS-20, KS-22; G20, G22, G24)', async t => {
  t.same(at100(t, { newest: whole([100, 200], unreadable) }).story(), ['armed 100', 'new 200'])
  t.same(at100(t, { newest: whole([200], { isClipped: true }) }).story(), ['armed 100', 'new 200'])
  t.same(at100(t, { newest: cut([90, 100, 160]) }).story(), ['armed 100', 'new 160'])
})

t.test('walk - a contradictory window does not keep a clean walk from closing (G18)', async t => {
  const window = cut([200], { continuation: { kind: 'end' }, isContradictory: true })
  t.same(at100(t, { newest: window, 200: whole([150]) }).story(), ['armed 100', 'new 150', 'new 200'])
})

t.test('window - one that breaks the contract is a failed poll (KS-21; G25)', async t => {
  const desk = at100(t, { newest: failure(200, 'shape-invalid') })
  t.same(desk.story(), [])
  t.match(desk.core.status().personas[0], { consecutive_failures: 1, armed: false })
})

/** An inbox that shows `perPage` of its messages at a time. */
function inboxOf(ids: readonly number[], perPage: number): Script['page'] {
  return ({ beforeId }) => {
    const below = ids.filter(id => beforeId === undefined || id < beforeId)
    const shown = below.slice(-perPage)
    return shown.length < below.length ? cut(shown) : whole(shown)
  }
}

t.test(
  'walk - a span of any depth closes over several polls and restarts (KS-23, KS-25; G14, G15)',
  async t => {
    const ids = [100, ...span(201, 321)]
    const desk = new CoreHarness(t, { maxReplay: 500 }, { page: () => whole([100]) }).settle()
    desk.story()
    desk.script.page = inboxOf(ids, 1)
    const before = desk.pages().length
    desk.restart().settle()
    t.equal(desk.pages().length - before, 51, 'fifty pages a poll')
    t.match(pinOf(desk), { status: 'open', walk: { next_before_id: 271, proven_down_to: 271 } })
    desk.restart().settle()
    t.match(pinOf(desk), { status: 'open', walk: { next_before_id: 221 } })
    desk.pass(1000)
    t.match(pinOf(desk), { status: 'cleared' })
    const news = desk.story().filter(line => line.startsWith('new '))
    t.same(
      news.map(line => Number(line.slice(4))).sort((a, b) => a - b),
      span(201, 321),
    )
  },
)

t.test(
  'walk - a later hole is walked before the first goes on, across restarts (KS-25, nested holes)',
  async t => {
    const desk = new CoreHarness(t, { maxReplay: 10_000 }, { page: () => whole([100]) }).settle()
    desk.story()
    const first = [100, ...span(201, 320)]
    desk.script.page = inboxOf(first, 1)
    desk.restart().settle()
    t.match(pinOf(desk), { walk: { next_before_id: 270, proven_down_to: 270 } })
    const second = [...first, ...span(401, 500)]
    desk.script.page = inboxOf(second, 1)
    desk.restart().settle()
    t.match(pinOf(desk), {
      cursor_at: 100,
      walk: { next_before_id: 450, proven_down_to: 270, later: [[320, 450]] },
    })
    const third = [...second, ...span(601, 660)]
    desk.script.page = inboxOf(third, 1)
    desk.restart().settle()
    t.match(pinOf(desk), {
      walk: {
        next_before_id: 610,
        proven_down_to: 270,
        later: [
          [320, 450],
          [500, 610],
        ],
      },
    })
    for (let n = 0; n < 4; n++) desk.restart().settle()
    t.match(pinOf(desk), { status: 'cleared' })
    const news = desk.story().filter(line => line.startsWith('new '))
    t.same(
      news.map(line => Number(line.slice(4))).sort((a, b) => a - b),
      third.slice(1),
    )
    await desk.store.verified(t)
  },
)

t.test(
  'replay cap - with a walk that stays open is announced when it closes, exact (KS-34; G31, G32)',
  async t => {
    const ids = [100, ...span(201, 330)]
    const desk = new CoreHarness(t, {}, { page: () => whole([100]) }).settle()
    desk.story()
    desk.script.page = inboxOf(ids, 1)
    const first = desk.restart().settle().story()
    t.same([first[0], first[1], first.at(-1)], ['persona', 'alert bounded-window', 'armed 100'])
    t.notOk(first.some(line => line.startsWith('new')))
    desk.script.page = inboxOf([...ids, 331], 1)
    const second = desk.restart().settle().story()
    t.ok(second.includes('new 331'))
    const third = desk.pass(1000).story()
    t.same(third.slice(-2), ['replay_capped', 'cleared bounded-window'])
    t.match(desk.payload('persona', 'argus'), { capped_to: 330, dropped: 130, silent_to: 330 })
  },
)

t.test('replay cap - counts what the walk brings, and walks all the same (B8, G31)', async t => {
  const pages = { newest: cut([200, 201, 202]), 200: whole([150, 160]) }
  const story = at100(t, pages, { maxReplay: 4 }).story()
  t.same(story, [
    ...['persona', 'silent 150', 'silent 160', 'silent 200', 'silent 201', 'silent 202'],
    ...['replay_capped', 'armed 202'],
  ])
})

t.test('local dialect - every window is complete: nothing is ever pinned (KS-1; G35)', async t => {
  const desk = new CoreHarness(t, { dialect: 'local' }).settle()
  desk.story()
  const rows: RowLike[] = [5, 6]
  desk.script.page = () => whole(rows)
  t.same(desk.pass(1000).story(), ['new 5', 'new 6'])
})

t.test(
  'id - one that comes back lower is an alarm within its poll, and ends when ids return (KS-39; D14)',
  async t => {
    const desk = at100(t, { newest: whole([100]) })
    desk.story()
    desk.script.page = () => whole([1, 2])
    t.same(desk.pass(1000).story(), ['alert id-regressed'])
    t.match(desk.payload('alert', 'argus/id-regressed'), { current_max: 2, cursor_at: 100 })
    t.same(desk.pass(2000).story(), [])
    desk.script.page = () => whole([1, 2, 100, 101])
    t.same(desk.pass(1000).story(), ['new 101'], 'what it brought meanwhile is not in the journal')
    desk.script.page = () => whole([100, 101])
    t.same(desk.pass(1000).story(), ['cleared id-regressed'])
  },
)

t.test('id - a lower one beside the highest is an alarm too, as it never comes in (KS-39)', async t => {
  const desk = at100(t, { newest: whole([100]) })
  desk.script.page = () => whole([100, 9000])
  t.same(desk.pass(1000).story(), ['armed 100', 'new 9000'])
  desk.script.page = () => whole([100, 101, 102, 9000])
  t.same(desk.pass(1000).story(), ['alert id-regressed'])
  t.match(desk.payload('alert', 'argus/id-regressed'), {
    reason:
      'id-regressed: the server shows 2 messages up to 102 that the journal does not have, although it has mail up to 9000: new mail up to message 9000 is not recorded or announced',
    current_max: 9000,
    cursor_at: 9000,
  })
  t.same(desk.pass(2000).story(), [], 'it is announced once')
  t.same(desk.restart().pass(2000).story(), ['armed 9000'], 'and not again after a restart')
  desk.script.page = () => whole([100, 9000, 9001])
  t.same(desk.pass(1000).story(), ['new 9001', 'cleared id-regressed'])
})

t.test('id - what was there before an inbox was watched is no lower id (KS-30, KS-39)', async t => {
  const desk = new CoreHarness(t, {}, { page: () => cut([90, 100]) }).settle()
  desk.story()
  desk.script.page = () => whole([10, 20, 90, 100])
  t.same(desk.pass(2000).story(), [], 'mail above it was removed, and older mail shows')
})

/** An inbox of 100 to 104, armed at 100; the disk lost some of its messages, and the process has ended. */
function robbed(t: Test, lost: readonly number[]): CoreHarness {
  const desk = new CoreHarness(t, {}, { page: () => whole([100]) }).settle()
  desk.script.page = () => whole([100, 101, 102, 103, 104])
  desk.pass(1000)
  t.equal(
    loseLines(desk, line => lost.some(id => line.includes(`"argus/${id}"`))),
    lost.length,
  )
  return desk
}

t.test(
  'lost mail - what a power loss took comes in again, and no id regressed (KS-28, KS-39, RC-7)',
  async t => {
    const desk = robbed(t, [102, 103]).start().settle()
    const back = ['armed 101', 'new 102', 'new 103']
    t.same(desk.story(), ['alert bounded-window', ...back, 'cleared bounded-window'])
    t.match(pinOf(desk), { cursor_at: 101, omitted: 0, window_floor: 100 })
    t.same(desk.restart().settle().story(), ['armed 104'])
  },
)

t.test('lost mail - it is walked for below the newest page (KS-22, KS-28, RC-7)', async t => {
  const desk = robbed(t, [102, 103])
  desk.script.page = scripted({
    ...{ newest: cut([104, 105]), 104: cut([103]), 103: cut([102]), 102: whole([100, 101]) },
  })
  desk.start().settle()
  t.same(desk.pages().slice(-3), ['newest', 104, 103])
  const back = ['armed 101', 'new 102', 'new 103', 'new 105']
  t.same(desk.story(), ['alert bounded-window', ...back, 'cleared bounded-window'])
  t.match(pinOf(desk), { cursor_at: 101, reconciled: 2, omitted: 1, window_floor: 104 })
})

/** Starts with a full disk, which holds the pin back; once there is space again the pin goes first. */
function startWithoutSpace(t: Test, desk: CoreHarness): void {
  desk.store.fs.break('writeSync', 'seg-', 'ENOSPC')
  desk.start()
  t.throws(() => desk.settle(), { code: 'store_full' })
  desk.core.committed('full', desk.now)
  desk.store.fs.heal()
  t.throws(() => desk.journal.append(desk.core.commit(desk.now)?.drafts ?? []), { code: 'journal_moved' })
  desk.core.committed('moved', desk.now)
}

t.test(
  'lost mail - a window from before a pin that a full disk held back does not clear it (RC-8)',
  async t => {
    const desk = robbed(t, [102, 103])
    startWithoutSpace(t, desk)
    t.same(desk.settle().story(), ['alert bounded-window', 'armed 101'])
    t.equal(desk.core.status().personas[0]?.pinned, true)
    t.same(desk.pass(1000).story(), ['new 102', 'new 103', 'cleared bounded-window'])
  },
)

t.test(
  'lost mail - a cap whose pin a full disk held back counts all that it silenced (KS-34, RC-8)',
  async t => {
    const desk = at100(t, {})
    desk.script.page = () => whole([100, 101, 102, 103, 104, 105])
    desk.restart({ maxReplay: 1 }).settle()
    const silenced = [101, 102, 103, 104, 105].map(id => `silent ${id}`)
    t.same(desk.story().slice(-8), ['persona', ...silenced, 'replay_capped', 'armed 105'])
    const lost = ['"argus/101"', '"argus/104"', '"argus/105"', '"capped_to":105']
    loseLines(desk, line => lost.some(text => line.includes(text)))
    startWithoutSpace(t, desk)
    t.same(desk.settle().story(), ['alert bounded-window', 'silent 104', 'silent 105', 'armed 100'])
    t.same(desk.pass(1000).story(), ['silent 101', 'replay_capped', 'cleared bounded-window'])
    t.match(desk.payload('persona', 'argus'), { capped_to: 105, dropped: 5 })
  },
)

t.test('walk - one whose last page ends right above the watermark leaves no hole (KS-23, KS-26)', async t => {
  const pages: Record<string, Page> = { newest: cut([151]) }
  for (const id of span(101, 150)) pages[id + 1] = cut([id])
  const desk = at100(t, pages, { maxReplay: 100 })
  t.same(desk.story(), ['armed 100', ...span(101, 151).map(id => `new ${id}`)])
  t.same(desk.restart().settle().story(), ['armed 151'])
})

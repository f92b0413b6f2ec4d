import type { Ask } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { CoreHarness, failure, whole } from './core-harness.js'

/** When a kind of request was made, in ms since the first of all. */
function times(desk: CoreHarness, kind: Ask['kind'], persona?: string): number[] {
  const firstMs = desk.asked[0]?.atMs ?? 0
  return desk.asked
    .filter(
      ({ ask }) =>
        ask.kind === kind &&
        (persona === undefined || (ask.kind === 'page' && ask.query.persona === persona)),
    )
    .map(({ atMs }) => atMs - firstMs)
}

const counted = (desk: CoreHarness): (string | undefined)[] =>
  desk.asked.flatMap(({ ask }) => (ask.kind === 'counts' ? [ask.query.cursor] : []))

const fp = (t: Test, options = {}, script = {}): CoreHarness =>
  new CoreHarness(t, { fastPath: true, ...options }, { page: () => whole([5]), token: 'c1', ...script })

t.test('without counts - every inbox every --poll-seconds, and no request for them (KS-55; F11)', async t => {
  const desk = new CoreHarness(t).pass(3500)
  t.same(times(desk, 'page'), [0, 1000, 2000, 3000])
  t.same(times(desk, 'counts'), [])
})

t.test('resync - the floor is time, whatever counts say (KS-55; F1)', async t => {
  const desk = fp(t, { resyncEvery: 3 }, { counts: () => ({ argus: 1 }) }).pass(9000)
  t.same(times(desk, 'page'), [0, 4000, 8000])
  t.equal(times(desk, 'counts').length, 10)
})

t.test('resync - many inboxes spread over the interval, each at its own phase (KS-55)', async t => {
  const personas = Array.from({ length: 16 }, (_, n) => `p${n}`)
  const desk = fp(t, { personas, resyncEvery: 15 }).pass(16_000)
  const again = times(desk, 'page').filter(ms => ms > 0)
  t.equal(new Set(again).size, 16, `at ${again.join(' ')}`)
  desk.pass(16_000)
  const rest = times(desk, 'page').filter(ms => ms > 16_000)
  t.equal(new Set(rest).size, rest.length, 'and stay apart')
})

t.test('rise - the persona whose count rose is polled at once (KS-54; F2)', async t => {
  const desk = fp(t, { personas: ['argus', 'river'] }, { counts: () => ({ argus: 1 }) }).pass(2500)
  desk.story()
  desk.script.counts = () => ({ argus: 2 })
  desk.script.page = () => whole([5, 6])
  t.match(desk.pass(1000).story(), ['new 6'])
  t.same(times(desk, 'page', 'argus'), [0, 3000])
  t.same(times(desk, 'page', 'river'), [0])
})

t.test('rise - stays due until a poll of that persona succeeded (KS-54, KS-55; F16)', async t => {
  const desk = fp(t, { resyncEvery: 9 }, { counts: () => ({ argus: 1 }) }).pass(1500)
  desk.script.counts = () => ({ argus: 2 })
  desk.script.page = () => failure()
  desk.pass(1000)
  desk.script.page = () => whole([5, 6])
  desk.pass(1000)
  t.same(times(desk, 'page'), [0, 2000, 3000])
})

t.test('rise - one that comes while the inbox is polled is polled for again (KS-54)', async t => {
  const desk = fp(t, {}, { counts: () => ({ argus: 1 }) }).settle()
  desk.script.page = () => undefined
  desk.core.poke(desk.now)
  desk.pass(500)
  desk.script.counts = () => ({ argus: 2 })
  desk.pass(600)
  desk.script.page = () => whole([5, 6])
  const before = times(desk, 'page').length
  desk.release()
  t.equal(times(desk, 'page').length, before + 1)
})

t.test('token - a new one alone makes due who has unread mail, and the others soon (KS-54; F18)', async t => {
  const personas = ['argus', 'river']
  const desk = fp(t, { personas, waitSeconds: 50 }, { counts: () => ({ argus: 1 }), token: 'c1' }).settle()
  desk.script.counts = () => undefined
  desk.pass(500)
  desk.script.counts = () => ({ argus: 1 })
  desk.script.token = 'c2'
  desk.release()
  t.same(times(desk, 'page', 'argus'), [0, 500])
  desk.script.counts = () => undefined
  desk.pass(1000)
  t.same(times(desk, 'page', 'river'), [0, 1500])
})

t.test(
  'long poll - one at a time, the token goes back, a held one is followed at once (KS-52, KS-53; F5, F6)',
  async t => {
    const desk = fp(t, { waitSeconds: 3, pollSeconds: 20 }, { counts: () => undefined }).pass(1000)
    t.equal(desk.hanging.length, 1)
    const tokens = ['c1', 'c2', 'c3']
    for (const token of tokens) {
      desk.script.token = token
      desk.script.counts = () => ({})
      const [held] = desk.hanging
      desk.script.counts = () => (held === undefined ? undefined : {})
      for (const { ask, sentMs } of desk.hanging.splice(0)) {
        const answer = { ok: true, sentMs, receivedMs: desk.now.monoMs } as const
        const value = { byPersona: new Map(), cursor: token, refused: [] }
        desk.core.answered({ kind: 'counts', id: ask.id, answer: { ...answer, value } }, desk.now)
      }
      desk.script.counts = () => undefined
      desk.pass(1000)
    }
    t.same(counted(desk), [undefined, 'c1', 'c2', 'c3'])
    t.same(times(desk, 'counts'), [0, 1000, 2000, 3000])
  },
)

t.test(
  'long poll - answers that bring nothing are spaced: two a second at most, then ever fewer (KS-53; F19, F7)',
  async t => {
    let n = 0
    const desk = fp(t, { waitSeconds: 3, pollSeconds: 60 }, { counts: () => ({}) })
    Object.defineProperty(desk.script, 'token', { get: () => `c${++n}` })
    desk.pass(20_000)
    t.same(times(desk, 'counts'), [0, 500, 1500, 3500, 7500, 12_500, 17_500])
  },
)

t.test('long poll - the pause is never longer than --poll-seconds (KS-53)', async t => {
  const desk = fp(t, { waitSeconds: 3, pollSeconds: 2 }, { counts: () => ({}) }).pass(8000)
  t.same(times(desk, 'counts'), [0, 500, 1500, 3500, 5500, 7500])
})

t.test('long poll - a new row resets the pause (KS-53)', async t => {
  const desk = fp(t, { waitSeconds: 3 }, { counts: () => ({ argus: 1 }), token: 'c1' }).pass(4000)
  const before = times(desk, 'counts').length
  desk.script.page = () => whole([5, 6])
  desk.core.poke(desk.now)
  desk.settle()
  t.equal(times(desk, 'counts').length, before + 1, 'asked at once')
})

t.test(
  'long poll - a failed one leaves every inbox due and backs off; the token stays (KS-14, KS-56; F4, F6)',
  async t => {
    const desk = fp(t, { waitSeconds: 3, pollSeconds: 20 }, { counts: () => ({}), token: 'c1' }).settle()
    desk.script.counts = () => failure(502)
    desk.pass(10_000)
    t.same(times(desk, 'counts'), [0, 500, 1500, 3500, 7500])
    t.same(times(desk, 'page'), [0, 500, 1500, 3500, 7500])
    t.same(counted(desk).slice(1), ['c1', 'c1', 'c1', 'c1'])
    desk.pass(100_000)
    const gaps = times(desk, 'counts').map((ms, at, all) => ms - (all[at - 1] ?? 0))
    t.same(gaps.slice(-2), [30_000, 30_000])
  },
)

t.test('without holding - a failure does not change the pace (KS-56; F3, F10, F12)', async t => {
  const desk = fp(t, {}, { counts: () => failure(500) }).pass(3000)
  t.same(times(desk, 'counts'), [0, 1000, 2000, 3000])
  t.same(times(desk, 'page'), [0, 1000, 2000, 3000])
  t.equal(desk.core.status().counts, 'unavailable')
})

t.test(
  'poke - makes every inbox due at once, two of them one round, also while a request is held (KS-57; F20, F21)',
  async t => {
    const desk = fp(t, { pollSeconds: 30, waitSeconds: 50 }, { counts: () => undefined }).pass(1500)
    t.equal(desk.core.poke(desk.now), 1)
    desk.pass(1000)
    desk.core.poke(desk.now)
    desk.core.poke(desk.now)
    desk.pass(1000)
    t.same(times(desk, 'page'), [0, 1500, 2500])
    t.equal(desk.core.poke(desk.now, 'nobody'), 0)
  },
)

t.test('polls - eight at a time, and those that hang delay no other (KS-54, KS-59)', async t => {
  const personas = Array.from({ length: 20 }, (_, n) => `p${String(n).padStart(2, '0')}`)
  const desk = new CoreHarness(
    t,
    { personas },
    { page: ({ persona }) => (persona < 'p09' ? undefined : whole([1])) },
  )
  desk.settle()
  t.equal(desk.hanging.length, 8)
  desk.pass(1000)
  t.equal(desk.hanging.length, 9)
  t.equal(desk.records().filter(({ event }) => event === 'armed').length, 11)
})

t.test('polls - a host of inboxes that hang delays a healthy one by seconds at most (KS-59)', async t => {
  const personas = [...Array.from({ length: 120 }, (_, n) => `h${n}`), 'well']
  const desk = new CoreHarness(
    t,
    { personas },
    { page: ({ persona }) => (persona === 'well' ? whole([1]) : undefined) },
  )
  desk.core.next(desk.now)
  desk.store.clock.mono += 1000
  const { asks, wakeAtMs } = desk.core.next(desk.now)
  t.equal(asks.length, 8)
  t.equal(
    wakeAtMs,
    desk.now.monoMs + 100,
    'those that began just now are looked at when their slots are free',
  )
  desk.restart().settle()
  desk.pass(2500)
  t.equal(desk.records().filter(({ event }) => event === 'armed').length, 1)
})

t.test('wall clock - its changes move no schedule (KS-60)', async t => {
  const desk = new CoreHarness(t).settle()
  desk.store.clock.wall -= 86_400_000
  desk.pass(2000)
  t.same(times(desk, 'page'), [0, 1000, 2000])
})

import t, { type Test } from 'tap'
import { CoreHarness, failure, type Script, whole } from './core-harness.js'

/** Twenty intervals until the resync: what is seen before it was polled for another reason. */
const rare = { fastPath: true, resyncEvery: 20 }

const local = (t: Test, script: Partial<Script> = {}, options = {}): CoreHarness =>
  new CoreHarness(
    t,
    { ...rare, dialect: 'local', ...options },
    { page: () => whole([5]), counts: () => ({ argus: 1 }), ...script },
  )

const hosted = (t: Test, script: Partial<Script> = {}, options = {}): CoreHarness =>
  new CoreHarness(
    t,
    { ...rare, ...options },
    { page: () => whole([5]), counts: () => ({ argus: 1 }), token: 'c1', ...script },
  )

/** When the inbox was polled, in ms since the first request of all. */
function polls(desk: CoreHarness, persona = 'argus'): number[] {
  const firstMs = desk.asked[0]?.atMs ?? 0
  return desk.asked.flatMap(({ ask, atMs }) =>
    ask.kind === 'page' && ask.query.persona === persona ? [atMs - firstMs] : [],
  )
}

/** As many messages are read as come in. */
function swap(desk: CoreHarness): void {
  desk.script.page = () => whole([{ id: 5, read: true }, 6])
}

const everySecond = [0, 1000, 2000, 3000]

t.test(
  'equal counts - on the local dialect unread mail is polled for every --poll-seconds (KS-54)',
  async t => {
    const desk = local(t).pass(2500)
    desk.story()
    swap(desk)
    t.same(desk.pass(1000).story(), ['new 6', 'update 5'])
    t.same(polls(desk), everySecond)
  },
)

t.test(
  'equal counts - an inbox without unread mail is not polled before its resync (KS-54, KS-55)',
  async t => {
    const read = whole([{ id: 5, read: true }])
    const desk = local(t, { page: () => read, counts: () => ({}) }).pass(20_500)
    t.same(polls(desk), [0])
    t.same(polls(desk.pass(1000)), [0, 21_000])
  },
)

t.test(
  'equal counts - mail that its owner wrote is not counted, and is no reason to poll (KS-54)',
  async t => {
    const own = whole([{ id: 5, from: 'argus' }])
    const desk = local(t, { page: () => own, counts: () => ({}) }).pass(20_000)
    t.same(polls(desk), [0])
  },
)

t.test('equal counts - without a token the hosted dialect is polled as the local one (KS-54)', async t => {
  const desk = hosted(t, { token: undefined }).pass(2500)
  desk.story()
  swap(desk)
  t.match(desk.pass(1000).story(), ['new 6'])
  t.same(polls(desk), everySecond)
})

t.test('equal counts - with a token the hosted dialect polls when the token changes (KS-54)', async t => {
  const desk = hosted(t).pass(2500)
  t.same(polls(desk), [0])
  desk.story()
  swap(desk)
  desk.script.token = 'c2'
  t.match(desk.pass(1000).story(), ['new 6'])
  t.same(polls(desk), [0, 3000])
})

t.test('equal counts - a token that comes and goes decides from answer to answer (KS-54)', async t => {
  const desk = hosted(t).pass(2500)
  desk.script.token = undefined
  desk.pass(2000)
  t.same(polls(desk), [0, 3000, 4000])
  desk.script.token = 'c1'
  t.same(polls(desk.pass(5000)), [0, 3000, 4000, 5000])
})

t.test('changed counts - a fall makes a plainly counted inbox due at once (KS-54)', async t => {
  const desk = local(t, { counts: () => ({ argus: 2 }) }, { pollSeconds: 10, waitSeconds: 5 }).pass(2000)
  desk.script.counts = () => ({ argus: 1 })
  swap(desk)
  desk.story()
  t.match(desk.pass(2000).story(), ['new 6', 'update 5'])
  t.same(polls(desk), [0, 3500], 'with the first answer that says so')
  desk.script.counts = () => ({})
  t.equal(polls(desk.pass(4000)).length, 3, 'and so does one to nothing')
})

t.test(
  'changed counts - so does another count of urgent mail, and none says nothing (KS-54, KS-13)',
  async t => {
    const desk = local(t, { counts: () => ({ argus: [1, 0] }) }, { pollSeconds: 10, waitSeconds: 5 }).pass(
      2000,
    )
    desk.script.counts = () => ({ argus: [1, 1] })
    desk.pass(2000)
    t.same(polls(desk), [0, 3500])
    desk.script.counts = () => ({ argus: [1, undefined] })
    desk.pass(4000)
    t.same(polls(desk), [0, 3500])
  },
)

t.test('changed counts - a fall with a token waits for the next message (KS-54)', async t => {
  const desk = hosted(t).pass(2500)
  desk.script.counts = () => ({})
  t.same(polls(desk.pass(3000)), [0])
})

t.test('token - one that changes while an inbox is polled makes it due again (KS-54)', async t => {
  const counts = { argus: 1, river: 1 }
  const options = { personas: ['argus', 'river'], waitSeconds: 50 }
  const desk = hosted(t, { counts: () => counts }, options).settle()
  desk.script.counts = () => undefined
  desk.script.page = () => undefined
  desk.pass(600)
  desk.core.poke(desk.now, 'argus')
  desk.settle()
  const polled = desk.hanging.splice(0).find(({ ask }) => ask.kind === 'page')
  const held = desk.asked.findLast(({ ask }) => ask.kind === 'counts')
  const { monoMs } = desk.now
  const byPersona = new Map([
    ['argus', { unread: 1, unreadUrgent: 0 }],
    ['river', { unread: 2, unreadUrgent: 0 }],
  ])
  const stamp = { ok: true, sentMs: monoMs, receivedMs: monoMs } as const
  const value = { byPersona, cursor: 'c2', refused: [] }
  desk.core.answered({ kind: 'counts', id: held?.ask.id ?? 0, answer: { ...stamp, value } }, desk.now)
  desk.core.answered(
    { kind: 'page', id: polled?.ask.id ?? 0, answer: { ...stamp, value: whole([5]) } },
    desk.now,
  )
  t.same(polls(desk.pass(2000)), [0, 600, 1600])
})

t.test('first answer - what it counts may have come after the first poll began (KS-54)', async t => {
  const desk = hosted(t, { counts: () => undefined, page: () => whole([]) }, { waitSeconds: 5 })
  desk.settle()
  desk.pass(100)
  desk.script.counts = () => ({ argus: 1 })
  desk.script.page = () => whole([5])
  desk.release()
  desk.script.counts = () => undefined
  desk.story()
  t.match(desk.pass(1000).story(), ['new 5'])
  t.same(polls(desk), [0, 1100])
})

t.test(
  'a server that does not count - is noticed on the local dialect, and polled (KS-15, KS-55)',
  async t => {
    const personas = ['argus', 'river']
    const script = {
      counts: () => ({}),
      page: ({ persona }: { persona: string }) => whole(persona === 'argus' ? [5] : []),
    }
    const desk = local(t, script, { personas, pollSeconds: 2, waitSeconds: 5 }).pass(7000)
    t.equal(desk.core.status().counts, 'unavailable')
    const notes = desk.core.notes().filter(({ code }) => code === 'counts_unavailable')
    t.match(notes, [{ message: /the server counts 0, but an inbox shows unread mail/ }])
    const before = polls(desk, 'river').length
    desk.pass(4000)
    t.equal(polls(desk, 'river').length, before + 2, 'every --poll-seconds, and no more often')
    desk.script.counts = () => ({ argus: 1 })
    desk.pass(3000)
    t.equal(desk.core.status().counts, 'live', 'until it counts')
    const after = polls(desk, 'river').length
    t.equal(polls(desk.pass(6000), 'river').length, after)
  },
)

t.test(
  'a server that does not count - mail that was read between two answers is no sign (KS-15)',
  async t => {
    const desk = local(t, { counts: () => ({}) }).settle()
    desk.script.page = () => whole([{ id: 5, read: true }])
    desk.pass(9000)
    t.same(polls(desk), [0, 1000])
    t.equal(desk.core.status().counts, 'live')
  },
)

t.test('unread mail - many inboxes that have some are polled at their own phases (KS-54)', async t => {
  const personas = Array.from({ length: 16 }, (_, n) => `p${n}`)
  const counts = Object.fromEntries(personas.map(name => [name, 1]))
  const desk = local(t, { counts: () => counts }, { personas, pollSeconds: 16 }).pass(32_500)
  const second = personas.map(name => polls(desk, name)[1] ?? 0)
  t.equal(new Set(second).size, 16, second.join(' '))
  for (const name of personas) {
    const [, once = 0, twice = 0] = polls(desk, name)
    t.equal(twice - once, 16_000, name)
  }
})

t.test('unread mail - a poll that failed is made again within --poll-seconds, as ever (KS-55)', async t => {
  const desk = local(t).pass(500)
  desk.script.page = () => failure()
  t.same(polls(desk.pass(3000)), everySecond)
})

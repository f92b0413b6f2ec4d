import t from 'tap'
import { CoreHarness, cut, failure, whole } from './core-harness.js'

const bad = failure(503)

function desk(t: import('tap').Test, alertAfter = 2): CoreHarness {
  const one = new CoreHarness(t, { alertAfter }, { page: () => whole([5]) }).settle()
  one.story()
  return one
}

/** Each poll of the next seconds, in turn. */
function polls(hive: CoreHarness, answers: string): string[] {
  for (const answer of answers) {
    hive.script.page = () => (answer === '-' ? bad : whole([5]))
    hive.pass(1000)
  }
  return hive.story()
}

t.test('liveness - below the threshold nothing is said (KS-49; E1)', async t => {
  t.same(polls(desk(t, 3), '--+'), [])
})

t.test('liveness - every outage is announced, and its end (KS-49; E2)', async t => {
  const hive = desk(t)
  const cycle = ['alert unreachable', 'persona', 'recovered unreachable', 'persona']
  t.same(polls(hive, '--++--+'), [...cycle, ...cycle])
  t.match(hive.payload('alert', 'argus/unreachable'), { status: 'cleared', cursor: 5 })
  const opened = hive.records().find(({ event }) => event === 'alert')?.payload
  t.match(opened, { reason: 'http 503', consecutive_failures: 2, seconds: 1 })
})

t.test('liveness - the seconds are measured from the first failure (KS-50)', async t => {
  const hive = new CoreHarness(t, { alertAfter: 3, pollSeconds: 7 }, { page: () => bad }).pass(20_000)
  t.match(hive.payload('alert', 'argus/unreachable'), { consecutive_failures: 3, seconds: 14 })
})

t.test(
  'liveness - down survives a restart and is not said again; the count does not (KS-50; E3 to E6)',
  async t => {
    const hive = desk(t)
    polls(hive, '---')
    hive.script.page = () => bad
    t.same(hive.restart().pass(5000).story(), [])
    t.equal(hive.core.status().personas[0]?.state, 'down')
    hive.script.page = () => whole([5, 6])
    t.same(hive.restart().settle().story(), ['recovered unreachable', 'armed 5', 'new 6'])
    hive.script.page = () => bad
    hive.restart().settle()
    t.same(hive.restart().settle().story(), [], 'one failure a life is below the threshold')
  },
)

t.test(
  'liveness - an inbox that never answered is announced too, and then comes in (KS-49; A14, A17)',
  async t => {
    const hive = new CoreHarness(t, { alertAfter: 2 }, { page: () => failure(403) }).pass(1000)
    t.same(hive.story(), ['alert unreachable', 'genesis list'])
    hive.script.page = () => whole([5])
    t.same(hive.pass(1000).story(), [
      ...['recovered unreachable', 'backfill 5', 'persona', 'baseline_skipped', 'armed 5'],
    ])
    t.match(hive.payload('alert', 'argus/unreachable'), { cursor: 5 }, 'E4: what it took over')
  },
)

t.test(
  'liveness - E4: recovered has the true cursor, also before the first message is in (KS-49)',
  async t => {
    const seeded = new CoreHarness(t, { alertAfter: 1, seedAt: 8 }, { page: () => failure(502) }).settle()
    seeded.script.page = () => whole([7, 9])
    t.ok(seeded.pass(1000).story().includes('recovered unreachable'))
    t.match(seeded.payload('alert', 'argus/unreachable'), { status: 'cleared', cursor: 8 })
    const usual = desk(t)
    polls(usual, '---')
    usual.script.page = () => whole([5, 6])
    usual.pass(1000)
    t.match(usual.payload('alert', 'argus/unreachable'), { status: 'cleared', cursor: 5 }, 'before the news')
  },
)

t.test('liveness - counts say nothing about an inbox (KS-18; F14, F15)', async t => {
  const hive = new CoreHarness(
    t,
    { alertAfter: 2, fastPath: true, resyncEvery: 2 },
    { page: () => whole([5]), counts: () => ({ argus: 1 }) },
  ).settle()
  hive.story()
  hive.script.page = () => bad
  t.same(hive.pass(10_000).story(), ['alert unreachable', 'persona'])
})

t.test('liveness - a walk that fails is no failure of the inbox (KS-18, KS-23)', async t => {
  const hive = desk(t, 1)
  hive.script.page = ({ beforeId }) => (beforeId === undefined ? cut([200]) : bad)
  t.same(hive.pass(1000).story(), ['alert bounded-window', 'new 200'])
})

t.test(
  'verdict - a store that never armed ends with a refused token or without an inbox (KS-51; A15, A16)',
  async t => {
    const verdict = (
      status: number,
      personas: string[] | undefined,
      more: Partial<CoreHarness['script']> = {},
    ) => {
      const hive = new CoreHarness(t, { personas }, { page: () => failure(status), ...more }).settle()
      return hive.core.verdict?.code
    }
    t.equal(verdict(404, ['argus']), 'no_such_persona')
    t.equal(verdict(401, ['argus']), 'token_refused')
    t.equal(verdict(401, undefined, { directory: () => failure(401) }), 'token_refused')
    t.equal(verdict(500, undefined, { directory: () => failure(500) }), undefined)
    t.equal(verdict(403, ['argus']), undefined)
    const one: CoreHarness['script']['page'] = ({ persona }) =>
      persona === 'argus' ? failure(404) : whole([])
    t.equal(verdict(0, ['argus', 'river'], { page: one }), undefined, 'one of two is its own trouble (K14)')
    const hive = desk(t)
    hive.script.page = () => failure(401)
    t.equal(hive.restart().settle().core.verdict, undefined, 'a store that armed goes on')
  },
)

import t from 'tap'
import { CoreHarness, cut, type RowLike, whole } from './core-harness.js'

/** What the simulation found, each as the shortest story that shows it. */

const span = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n)

t.test('unread walk - a page of an older one is not taken for the new one (KS-58)', async t => {
  const counts = (): { argus: number } => ({ argus: 1 })
  const desk = new CoreHarness(
    t,
    { fastPath: true, resyncEvery: 1 },
    { page: () => whole([5, 6, 7]), counts, token: 'c1' },
  ).settle()
  desk.script.page = ({ unreadOnly }) => (unreadOnly === true ? undefined : whole([5, 6, 7]))
  desk.pass(2000)
  const [old] = desk.hanging
  desk.pass(2000)
  t.equal(desk.hanging.length, 2, 'two walks were begun')
  const answer = {
    ok: true,
    value: whole([5]),
    sentMs: desk.now.monoMs,
    receivedMs: desk.now.monoMs,
  } as const
  desk.core.answered({ kind: 'page', id: old?.ask.id ?? 0, answer }, desk.now)
  desk.settle()
  t.same(
    [5, 6, 7].map(id => desk.payload('message', `argus/${id}`)?.['read']),
    [false, false, false],
  )
})

t.test('first contact - one whose grace is over on a full disk waits without turning (KS-31)', async t => {
  const desk = new CoreHarness(
    t,
    { fastPath: true, waitSeconds: 50 },
    { page: () => whole([5]), counts: () => undefined },
  )
  desk.settle()
  desk.store.clock.mono += 2000
  const { now } = desk
  t.ok(desk.core.commit(now))
  desk.core.committed('full', now)
  const { wakeAtMs } = desk.core.next(now)
  t.ok(wakeAtMs === undefined || wakeAtMs > now.monoMs)
})

t.test('replay cap - retention takes away nothing that is still to be counted (KS-34, JF-79)', async t => {
  const desk = new CoreHarness(t, {}, { page: () => whole([100]) })
  desk.journal.close()
  desk.journalOptions = { retainRead: 1 }
  desk.start().settle()
  const ids = [100, ...span(201, 330)]
  const rows: RowLike[] = ids.map(id => ({ id, read: true }))
  desk.script.page = ({ beforeId }) => {
    const below = rows.filter(row => typeof row !== 'number' && (beforeId === undefined || row.id < beforeId))
    return below.length > 1 ? cut(below.slice(-1)) : whole(below)
  }
  desk.restart().settle()
  desk.journal.roll()
  desk.pass(3000)
  t.match(desk.payload('persona', 'argus'), { capped_to: 330, dropped: 130 })
  desk.journal.roll()
  t.equal([...desk.journal.state.outlines('message')].length, 1, 'and then it may')
})

t.test('seed - another one is refused while a cap is owed (KS-35)', async t => {
  const desk = new CoreHarness(t, { maxReplay: 0 }, { page: () => whole([100]) }).settle()
  desk.script.page = ({ beforeId }) => (beforeId === undefined ? cut([200]) : cut([]))
  desk.restart().settle()
  t.match(desk.payload('persona', 'argus'), { silent_to: 200, cursor: 100 })
  t.throws(() => desk.restart({ seedAt: 500 }), {
    code: 'config_invalid',
    hint: /first poll of argus finish \(.*"a gap is being filled"\); then stop/,
  })
})

t.test('seed - a first contact that was cut off goes on without it (KS-30, KS-35)', async t => {
  const desk = new CoreHarness(t, {}, { page: () => cut([60, 69]) })
  const { now } = desk
  const [ask] = desk.core.next(now).asks
  const answer = { ok: true, value: cut([60, 69]), sentMs: now.monoMs, receivedMs: now.monoMs } as const
  desk.core.answered({ kind: 'page', id: ask?.id ?? 0, answer }, now)
  desk.journal.append(desk.core.commit(now)?.drafts.slice(0, 2) ?? [])
  t.same(desk.story(), ['backfill 60', 'backfill 69'])
  const story = desk.restart({ seedAt: 32 }).settle().story()
  t.same(story, ['persona', 'baseline_skipped', 'armed 69', 'genesis list'])
  t.match(desk.payload('persona', 'argus'), { floor: 60, cursor: 69 })
})

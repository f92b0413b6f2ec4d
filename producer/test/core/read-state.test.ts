import t, { type Test } from 'tap'
import { CoreHarness, whole } from './core-harness.js'

const unread = { argus: 1 }

function desk(t: Test, options = {}, script = {}): CoreHarness {
  const one = new CoreHarness(
    t,
    { fastPath: true, ...options },
    { page: () => whole([5, 6]), counts: () => unread, ...script },
  )
  one.settle().story()
  return one
}

const reads = (one: CoreHarness): unknown[] =>
  ['argus/5', 'argus/6'].map(id => one.payload('message', id)?.['read'])

t.test('read - its own row says so, and it is never taken back (KS-58)', async t => {
  const one = desk(t, { fastPath: false })
  one.script.page = () => whole([{ id: 5, read: true }, 6])
  t.same(one.pass(1000).story(), ['update 5'])
  one.script.page = () => whole([5, 6])
  t.same(one.pass(1000).story(), [])
  t.same(one.restart().settle().story(), ['armed 6'])
  t.same(reads(one), [true, false])
})

t.test('read - no unread mail means that what was durable before the request was read (KS-58)', async t => {
  const one = desk(t)
  one.script.counts = () => ({})
  t.same(one.pass(1000).story(), ['update 5', 'update 6'])
  t.same(reads(one), [true, true])
  t.same(one.pass(2000).story(), [])
  const local = desk(t, { dialect: 'local' }, { counts: () => ({}) })
  t.same(local.pass(3000).story(), [], 'on the local dialect only rows count')
})

t.test('read - a message that came after the request was sent is not (KS-58)', async t => {
  const one = desk(t, { waitSeconds: 50 }, { counts: () => undefined, page: () => whole([5]) })
  one.pass(2000).story()
  one.script.page = () => whole([5, 6])
  one.core.poke(one.now)
  t.same(one.settle().story(), ['new 6'])
  one.script.counts = () => ({})
  one.release()
  t.same(reads(one), [false, false], 'both were durable only after it was sent')
  one.pass(1000)
  t.same(reads(one), [true, true])
})

t.test('read - at a resync a covered walk over unread rows tells which (KS-58)', async t => {
  const one = desk(t, { resyncEvery: 1 }, { token: 'c1' })
  one.script.page = ({ unreadOnly }) => (unreadOnly === true ? whole([6]) : whole([]))
  one.pass(2000)
  t.same(reads(one), [true, false])
  const last = one.asked.findLast(({ ask }) => ask.kind === 'page')?.ask
  t.match(last, { query: { persona: 'argus', unreadOnly: true } })
})

t.test('read - a walk that was not covered proves nothing (KS-58)', async t => {
  const one = desk(t, { resyncEvery: 1 })
  const open = { continuation: { kind: 'unreadable' }, omitted: 1 } as const
  one.script.page = ({ unreadOnly }) => (unreadOnly === true ? whole([6], open) : whole([]))
  one.pass(2000)
  t.same(reads(one), [false, false])
})

t.test('retention - takes read messages away, and nothing brings them back (KS-29, KS-58)', async t => {
  const one = desk(t, { fastPath: false })
  const rows = (read: boolean): { id: number; read: boolean }[] =>
    [1, 2, 3, 4].map(n => ({ id: n + 4, read }))
  one.journal.close()
  one.journalOptions = { retainRead: 1 }
  one.script.page = () => whole(rows(true))
  one.start().settle()
  one.journal.roll()
  t.notOk(one.journal.state.has('message', 'argus/5'))
  t.match(one.payload('persona', 'argus'), { known_from: 8 })
  one.story()
  one.script.page = () => whole(rows(false))
  one.pass(1000)
  one.script.page = () => whole(rows(true).map(row => ({ ...row, content: 'changed' })))
  one.pass(1000)
  t.same(one.story(), ['update 8'])
  t.same(one.restart().settle().story(), ['armed 8'])
  t.match(one.payload('persona', 'argus'), { known_from: 8 })
  await one.store.verified(t)
})

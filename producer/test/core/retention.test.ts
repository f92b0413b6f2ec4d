import t, { type Test } from 'tap'
import { CoreHarness, type RowLike, whole } from './core-harness.js'

/** Rows of a size that lets a poll need several commits, and a segment fill up between two of them. */
const rows = (from: number, to: number, more = {}): RowLike[] =>
  Array.from({ length: to - from + 1 }, (_, n) => ({ id: from + n, read: true, ...more }))

const small = { segmentBytes: 4000, retainRead: 5 }

/** A producer whose segments are small and whose retention keeps little. */
function smallDesk(
  t: Test,
  options: Partial<CoreHarness['options']>,
  page: CoreHarness['script']['page'],
): CoreHarness {
  const desk = new CoreHarness(t, options, { page })
  desk.journal.close()
  desk.journalOptions = small
  return desk.start()
}

/** How often each message was created, and which were not. */
function created(desk: CoreHarness): { readonly distinct: number; readonly again: readonly string[] } {
  const ids = desk
    .records()
    .filter(
      ({ item_type, action }) => item_type === 'message' && (action === 'create' || action === 'backfill'),
    )
    .map(({ item_id }) => item_id)
  return { distinct: new Set(ids).size, again: ids.filter((id, at) => ids.indexOf(id) !== at) }
}

t.test(
  'retention - in the middle of a poll of several commits nothing comes again (KS-29, JF-81)',
  async t => {
    const desk = smallDesk(t, { dialect: 'local', maxReplay: 5000 }, () => whole([1])).settle()
    desk.script.page = () => whole([...rows(1, 2500), 2501])
    desk.pass(1000)
    t.same(created(desk), { distinct: 2501, again: [] })
    t.equal(desk.core.status().personas[0]?.watermark, 2501)
    await desk.store.verified(t)
  },
)

t.test('retention - in the middle of an arming that a seed silences (KS-29, KS-35)', async t => {
  const page = (): ReturnType<typeof whole> => whole(rows(1, 2500))
  const desk = smallDesk(t, { dialect: 'local', seedAt: 2600 }, page).settle()
  t.same(created(desk), { distinct: 2500, again: [] })
})

t.test('retention - right behind the record that ends a first contact (KS-30, KS-31)', async t => {
  for (const count of [998, 999, 1000, 1001, 1999, 2000]) {
    const desk = smallDesk(t, { dialect: 'local' }, () => whole(rows(1, count))).settle()
    t.same(created(desk), { distinct: count, again: [] })
    const said = desk.records().filter(({ event }) => event === 'baseline_skipped')
    t.equal(said.length, 1, `${count} are announced once`)
    t.match(said[0]?.payload, { skipped: count, id_range: [1, count] })
  }
})

t.test(
  'retention - what it says of one persona stays when another one was committed (KS-71, JF-80)',
  async t => {
    const desk = smallDesk(t, { personas: ['argus', 'river'], dialect: 'local', maxReplay: 500 }, () =>
      whole([1]),
    )
    desk.settle()
    desk.script.page = ({ persona }) => whole(rows(1, persona === 'argus' ? 400 : 1))
    desk.pass(1000)
    const knownFrom = desk.journal.state.get('persona', 'argus')?.payload?.['known_from']
    desk.script.page = ({ persona }) => (persona === 'argus' ? whole([]) : whole(rows(1, 300)))
    desk.pass(1000)
    desk.journal.roll()
    const after = desk.journal.state.get('persona', 'argus')?.payload?.['known_from']
    t.ok(Number(after) >= Number(knownFrom ?? 0), `${String(knownFrom)} then ${String(after)}`)
    desk.restart().settle()
    t.equal(desk.journal.state.get('persona', 'argus')?.payload?.['known_from'], after)
    t.same(created(desk).again, [])
  },
)

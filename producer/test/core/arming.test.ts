import t from 'tap'
import { HiveDesk, whole } from './hive-desk.js'

t.test(
  'first contact - backfills what is visible, then says so, then arms (KS-30, KS-31, KS-32; B1)',
  async t => {
    const desk = new HiveDesk(t, {}, { page: () => whole([9, 5]) }).settle()
    t.same(desk.story(), [
      'backfill 5',
      'backfill 9',
      'persona',
      'baseline_skipped',
      'armed 9',
      'genesis list',
    ])
    const baseline = desk.records().find(({ event }) => event === 'baseline_skipped')?.payload
    t.match(baseline, { armed_at: 9, skipped: 2, id_range: [5, 9], unread_held: 'unknown' })
    t.match(desk.payload('persona', 'argus'), { cursor: 9, floor: 0, state: 'up', watched: true })
    desk.pass(3000)
    t.same(desk.story(), [])
    await desk.store.verified(t)
  },
)

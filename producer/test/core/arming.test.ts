import t from 'tap'
import { CoreHarness, failure, type RowLike, whole } from './core-harness.js'

/** A desk whose first process armed argus with these messages and ended. */
function resumed(t: import('tap').Test, rows: readonly RowLike[], options = {}): CoreHarness {
  const desk = new CoreHarness(t, options, { page: () => whole(rows) }).settle()
  desk.story()
  return desk
}

const span = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n)

t.test('first contact - backfills what is visible, says so, then arms (KS-30, KS-31, KS-32; B1)', async t => {
  const desk = new CoreHarness(t, {}, { page: () => whole([9, 5]) }).settle()
  t.same(desk.story(), ['backfill 5', 'backfill 9', 'persona', 'baseline_skipped', 'armed 9', 'genesis list'])
  const baseline = desk.records().find(({ event }) => event === 'baseline_skipped')?.payload
  t.match(baseline, { armed_at: 9, skipped: 2, id_range: [5, 9], unread_held: 'unknown' })
  t.match(desk.payload('persona', 'argus'), { cursor: 9, floor: 0, state: 'up', watched: true })
  desk.pass(3000)
  t.same(desk.story(), [])
  await desk.store.verified(t)
})

t.test(
  'first contact - waits for the first counts, and tells by them what was unread (KS-31; B2, B3, B4)',
  async t => {
    const told = (counts: Record<string, number>): unknown => {
      const desk = new CoreHarness(
        t,
        { fastPath: true },
        { page: () => whole([5, 9]), counts: () => counts },
      ).settle()
      return desk.records().find(({ event }) => event === 'baseline_skipped')?.payload?.['unread_held']
    }
    t.equal(told({ argus: 3 }), 3)
    t.equal(told({ argus: 0 }), undefined)
    t.equal(told({}), undefined)
  },
)

t.test('first contact - counts that hang hold it back for a second, no more (KS-31, KS-52)', async t => {
  const desk = new CoreHarness(
    t,
    { fastPath: true, waitSeconds: 50 },
    { page: () => whole([5]), counts: () => undefined },
  )
  t.same(desk.settle().story(), [])
  t.same(desk.pass(999).story(), [])
  t.match(desk.pass(1).story(), ['backfill 5', 'persona', 'baseline_skipped', 'armed 5'])
})

t.test('first contact - with an empty inbox has nothing to say (KS-31; B5)', async t => {
  const desk = new CoreHarness(t).settle()
  t.same(desk.story(), ['persona', 'armed 0', 'genesis list'])
})

t.test('first contact - comes with the first poll that is healthy (KS-32; B13)', async t => {
  const answers = [failure(), failure(), whole([3, 5])]
  const desk = new CoreHarness(t, {}, { page: () => answers.shift() ?? whole([3, 5]) }).pass(1900)
  t.same(desk.story(), [])
  t.match(desk.pass(200).story(), ['backfill 3', 'backfill 5', 'persona', 'baseline_skipped', 'armed 5'])
})

t.test('resume - what came meanwhile is news, in the order of ids (KS-29, KS-46; B6, B14)', async t => {
  const desk = resumed(t, [4])
  desk.script.page = () => whole([3, 5, 7, 6])
  t.same(desk.restart().settle().story(), ['armed 4', 'new 5', 'new 6', 'new 7'])
  t.same(desk.restart().settle().story(), ['armed 7'])
})

t.test('replay cap - as many as the cap are news, one more silences all (KS-34, KS-36; B7, B8)', async t => {
  const desk = resumed(t, [4])
  desk.script.page = () => whole(span(4, 54))
  const replayed = desk.restart().settle().story()
  t.same(replayed, ['armed 4', ...span(5, 54).map(id => `new ${id}`)])
  desk.script.page = () => whole(span(4, 105))
  const capped = desk.restart().settle().story()
  t.same(capped, ['persona', ...span(55, 105).map(id => `silent ${id}`), 'replay_capped', 'armed 105'])
  t.match(desk.payload('persona', 'argus'), { silent_to: 105, capped_to: 105, dropped: 51, cursor: 105 })
  desk.script.page = () => whole([106])
  t.same(desk.pass(1000).story(), ['new 106'])
})

t.test('replay cap - of nothing silences any backlog, and recovery knows none (KS-34; B9)', async t => {
  const desk = resumed(t, [4], { maxReplay: 0 })
  desk.script.page = () => whole([4, 5])
  t.same(desk.restart().settle().story(), ['persona', 'silent 5', 'replay_capped', 'armed 5'])
  desk.script.page = () => failure()
  desk.pass(5000)
  desk.script.page = () => whole(span(5, 60))
  t.ok(desk.pass(1000).story().includes('new 60'))
})

t.test('seed - what lies up to it is silent, what lies above it is news (KS-35, KS-36)', async t => {
  const desk = new CoreHarness(t, { seedAt: 5 }, { page: () => whole([3, 5, 7]) }).settle()
  t.same(desk.story(), ['persona', 'silent 3', 'silent 5', 'armed 5', 'new 7', 'genesis list'])
  t.match(desk.payload('persona', 'argus'), { silent_to: 5, seeded: 5 })
  desk.script.page = () => whole([3, 4, 5, 7])
  t.same(desk.restart().settle().story(), ['armed 7'], 'the same seed again changes nothing')
})

t.test('seed - above everything visible is said once and is never the watermark (KS-35; B10)', async t => {
  const desk = new CoreHarness(t, { seedAt: 600 }, { page: () => whole([3, 539]) }).settle()
  t.same(desk.story(), ['persona', 'silent 3', 'silent 539', 'seed_ahead', 'armed 539', 'genesis list'])
  t.match(desk.payload('persona', 'argus'), { seeded: 600, current_max: 539, cursor: 539, silent_to: 600 })
  desk.script.page = () => whole([3, 539, 599, 601])
  t.same(desk.pass(1000).story(), ['silent 599', 'new 601'])
  t.same(desk.restart().settle().story(), ['armed 601'])
})

t.test(
  'seed - of a persona with a record silences on from there, and one below is refused (KS-35; B11)',
  async t => {
    const desk = resumed(t, [3])
    desk.script.page = () => whole([3, 5, 7])
    t.same(desk.restart({ seedAt: 5 }).settle().story(), ['persona', 'silent 5', 'armed 5', 'new 7'])
    t.same(desk.restart().settle().story(), ['armed 7'])
    t.throws(() => desk.restart({ seedAt: 7 }), { code: 'config_invalid', hint: /--after-id 7/ })
  },
)

t.test('damage - a persona without a record is armed below its window, never silently (KS-38)', async t => {
  const desk = new CoreHarness(t)
  const history = { isWhole: false, from: 9, holes: [] }
  desk.script.page = () => whole([150, 200])
  desk.startOn(history).settle()
  t.same(desk.story(), ['state_corrupt', 'armed 0', 'new 150', 'new 200', 'genesis list'])
  const said = desk.records().find(({ event }) => event === 'state_corrupt')?.payload
  t.match(said, { armed_at: 149, floor: 150, cursor: 0 })
  t.same(desk.restart().settle().story(), ['armed 200'])
})

t.test('authors - mail of a suppressed author wakes no reader, in exact case (KS-44; C7, C8)', async t => {
  const desk = resumed(t, [4], { suppressedAuthors: ['argus'] })
  desk.script.page = () =>
    whole([4, { id: 5, from: 'argus' }, { id: 6, from: 'river' }, { id: 7, from: 'Argus' }])
  t.same(desk.pass(1000).story(), ['silent 5', 'new 6', 'new 7'])
})

t.test(
  'content - bodies are kept out of the store where that is asked for, and never compared (KS-42; C5)',
  async t => {
    const desk = resumed(t, [{ id: 4, content: 'a😀b' }], { keepContent: false })
    desk.script.page = () => whole([{ id: 4, content: 'another' }])
    t.same(desk.pass(1000).story(), [])
    t.same(desk.restart().settle().story(), ['armed 4'])
    const { content, content_length } = desk.payload('message', 'argus/4') ?? {}
    t.same([content, content_length], [undefined, 3])
  },
)

t.test(
  'content - another body for a known id is an update without an event, also after a restart (KS-43)',
  async t => {
    const desk = resumed(t, [{ id: 4, content: 'first' }])
    desk.script.page = () => whole([{ id: 4, content: 'second' }])
    t.same(desk.pass(2000).story(), ['update 4'])
    desk.script.page = () => whole([{ id: 4, content: 'third' }])
    t.same(desk.restart().settle().story(), ['armed 4', 'update 4'])
    t.equal(desk.payload('message', 'argus/4')?.['content'], 'third')
    desk.script.page = () => whole([{ id: 4, content: 'th' }], { isClipped: true })
    t.same(desk.pass(2000).story(), [], 'a clipped body replaces none')
  },
)

t.test('large poll - goes into as many commits as it takes, each row once (KS-45, KS-47)', async t => {
  const body = 'x'.repeat(4000)
  const desk = new CoreHarness(
    t,
    {},
    { page: () => whole(span(1, 2300).map(id => ({ id, content: body }))) },
  ).settle()
  const story = desk.story()
  t.equal(story.filter(line => line.startsWith('backfill')).length, 2300)
  t.same(story.slice(-4), ['persona', 'baseline_skipped', 'armed 2300', 'genesis list'])
  t.match(desk.records().find(({ event }) => event === 'baseline_skipped')?.payload, { skipped: 2300 })
  await desk.store.verified(t)
})

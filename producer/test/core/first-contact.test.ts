import type { Draft } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { CoreHarness, cut, failure, type RowLike, type Script, whole } from './core-harness.js'
import { loseLines } from './lose-lines.js'

const span = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n)

/** An inbox that shows its newest nine messages, and nine more with each page of a walk. */
function inboxOf(rows: readonly RowLike[]): Script['page'] {
  return ({ beforeId }) => {
    const below = rows.filter(
      row => beforeId === undefined || (typeof row === 'number' ? row : row.id) < beforeId,
    )
    const shown = below.slice(-9)
    return shown.length < below.length ? cut(shown) : whole(shown)
  }
}

/** The same, but no page of a walk is answered. */
function windowOf(rows: readonly RowLike[]): Script['page'] {
  const inbox = inboxOf(rows)
  return query => (query.beforeId === undefined ? inbox(query) : failure())
}

/** Takes one turn with the pages that are asked for, and appends only what is kept of its first commit. */
function cutCommit(desk: CoreHarness, keeps: (draft: Draft, at: number) => boolean): number {
  const { now } = desk
  for (let asked = desk.core.next(now).asks; asked.length > 0; asked = desk.core.next(now).asks) {
    for (const ask of asked) {
      const page = ask.kind === 'page' ? desk.script.page(ask.query) : undefined
      if (page === undefined) throw new Error(`it asked for ${ask.kind}`)
      const times = { sentMs: now.monoMs, receivedMs: now.monoMs }
      const answer =
        'rows' in page
          ? { ok: true as const, value: page, ...times }
          : { ok: false as const, failure: page, ...times }
      desk.core.answered({ kind: 'page', id: ask.id, answer }, now)
    }
  }
  const drafts = desk.core.commit(now)?.drafts ?? []
  const kept = drafts.filter(keeps)
  if (kept.length > 0) desk.journal.append(kept)
  return drafts.length
}

/** 80 messages, nine on a page; the first commit is cut, 30 more come, and a process starts. */
function cutOff(t: Test, keeps: (draft: Draft, at: number) => boolean): CoreHarness {
  const desk = new CoreHarness(t, {}, { page: inboxOf(span(1, 80)) })
  cutCommit(desk, keeps)
  desk.story()
  desk.script.page = inboxOf(span(1, 110))
  return desk.restart()
}

const saidBy = (desk: CoreHarness): Readonly<Record<string, unknown>>[] =>
  desk
    .records()
    .filter(({ event }) => event === 'baseline_skipped')
    .map(({ payload }) => payload ?? {})

const idsIn = (desk: CoreHarness): number[] =>
  desk
    .records()
    .filter(({ item_type, action }) => item_type === 'message' && action !== 'update')
    .map(({ payload }) => Number(payload?.['id']))
    .sort((a, b) => a - b)

t.test('first contact - cut after any message it walks down to the lowest (KS-94)', async t => {
  for (let kept = 1; kept <= 9; kept++) {
    const desk = cutOff(t, (_, at) => at < kept).settle()
    t.same(desk.story(), [
      ...span(72 + kept, 110).map(id => `backfill ${id}`),
      ...['persona', 'baseline_skipped', 'armed 110', 'genesis list'],
    ])
    t.same(desk.pages(), ['newest', 102, 93, 84, 75])
    t.match(saidBy(desk), [{ armed_at: 110, skipped: 39, id_range: [72, 110] }], `cut after ${kept}`)
    t.match(desk.payload('persona', 'argus'), { floor: 72, cursor: 110, silent_to: undefined })
    await desk.store.verified(t)
  }
})

t.test('first contact - cut after its record it is over (KS-30, KS-31, KS-47)', async t => {
  const desk = cutOff(t, (_, at) => at < 10).settle()
  t.match(saidBy(desk), [{ armed_at: 80, skipped: 9, id_range: [72, 80] }])
  t.same(
    desk.story().slice(-30),
    span(81, 110).map(id => `new ${id}`),
  )
})

t.test('first contact - cut after its record keeps a cap on what came meanwhile (KS-31, KS-34)', async t => {
  const desk = cutOff(t, (_, at) => at < 10)
    .restart({ maxReplay: 10 })
    .settle()
  t.same(desk.story(), [
    ...['genesis list', 'persona', ...span(81, 110).map(id => `silent ${id}`)],
    ...['baseline_skipped', 'replay_capped', 'armed 110'],
  ])
  t.match(saidBy(desk), [{ armed_at: 80, skipped: 9, id_range: [72, 80] }])
  t.match(desk.payload('persona', 'argus'), { silent_to: 110, capped_to: 110, dropped: 30 })
})

t.test('first contact - of which only some messages are left brings the others too (KS-94)', async t => {
  const desk = cutOff(t, ({ item_id }) => ['argus/74', 'argus/75', 'argus/79'].includes(item_id)).settle()
  t.same(idsIn(desk), span(74, 110))
  t.match(saidBy(desk), [{ skipped: 37, id_range: [74, 110] }])
  t.match(desk.payload('persona', 'argus'), { floor: 74 })
})

t.test('first contact - a page that reaches what is left needs no walk (KS-94)', async t => {
  const desk = cutOff(t, (_, at) => at < 3)
  desk.script.page = inboxOf(span(1, 79))
  desk.settle()
  t.same(desk.pages(), ['newest'])
  t.same(idsIn(desk), span(71, 79), 'mail above it was removed, and older mail shows')
  t.match(saidBy(desk), [{ skipped: 9, id_range: [71, 79] }])
  t.match(desk.payload('persona', 'argus'), { floor: 71 })
  desk.script.page = () => whole([])
  t.same(desk.restart().settle().story().at(-1), 'armed 79')
})

t.test('first contact - of which the server shows nothing any more counts what is left (KS-94)', async t => {
  const desk = cutOff(t, (_, at) => at < 3)
  desk.script.page = () => whole([])
  desk.settle()
  t.match(saidBy(desk), [{ armed_at: 74, skipped: 3, id_range: [72, 74] }])
  t.match(desk.payload('persona', 'argus'), { floor: 0, cursor: 74 })
})

/** First contact was cut after three messages, and the walk of the next one fails. */
function stuck(t: Test): CoreHarness {
  const desk = cutOff(t, (_, at) => at < 3)
  desk.script.page = windowOf(span(1, 110))
  return desk.settle()
}

t.test('first contact - a walk that stays open holds no later mail back (KS-25, KS-94)', async t => {
  const desk = stuck(t)
  t.same(desk.story(), [
    ...['alert bounded-window', ...span(102, 110).map(id => `backfill ${id}`)],
    ...['persona', 'armed 110', 'genesis list'],
  ])
  t.match(desk.payload('alert', 'argus/bounded-window'), { cursor_at: 72, window_floor: 102 })
  t.match(desk.payload('persona', 'argus'), { floor: 72, cursor: 110, silent_to: 110 })
  desk.script.page = windowOf(span(1, 112))
  t.same(desk.pass(1000).story(), ['new 111', 'new 112'])
  t.throws(() => desk.restart({ seedAt: 500 }), {
    code: 'config_invalid',
    hint: /first poll of argus finish \(.*"a gap is being filled"\); then stop/,
  })
  t.equal(desk.core.status().personas[0]?.pinned, true)
  t.same(desk.restart({ seedAt: undefined }).settle().story(), ['armed 110'])
  desk.script.page = inboxOf(span(1, 113))
  t.same(desk.pass(1000).story(), [
    ...[...span(75, 101).map(id => `silent ${id}`), 'baseline_skipped'],
    ...['new 113', 'cleared bounded-window'],
  ])
  t.match(saidBy(desk), [{ armed_at: 110, skipped: 39, id_range: [72, 110], unread_held: 'unknown' }])
  t.match(desk.payload('persona', 'argus'), { floor: 72, cursor: 110, silent_to: undefined })
  t.same(desk.restart().settle().story(), ['armed 113'])
  t.same(idsIn(desk), span(72, 113))
  await desk.store.verified(t)
})

t.test(
  'first contact - with an open walk says what is unread as long as it knows (KS-31, KS-94)',
  async t => {
    const unreadHeld = (unread: number, newest: number): unknown => {
      const desk = stuck(t)
      desk.script.counts = () => ({ argus: unread })
      desk.script.page = inboxOf(span(1, newest))
      desk.restart({ fastPath: true }).settle()
      t.match(desk.payload('persona', 'argus'), { silent_to: undefined })
      t.not(desk.payload('alert', 'argus/bounded-window')?.['status'], 'open')
      return saidBy(desk)[0]?.['unread_held']
    }
    t.equal(unreadHeld(5, 110), 5)
    t.equal(unreadHeld(5, 111), 'unknown')
    t.equal(unreadHeld(0, 111), undefined)
  },
)

t.test('first contact - with an open walk can be cut anywhere (KS-37, KS-47, KS-94)', async t => {
  for (let kept = 1; ; kept++) {
    const desk = cutOff(t, (_, at) => at < 3)
    desk.script.page = windowOf(span(1, 110))
    const count = cutCommit(desk, (_, at) => at < kept)
    desk.script.page = inboxOf(span(1, 125))
    const again = cutCommit(desk.restart(), (_, at) => at < kept)
    desk.script.page = inboxOf(span(1, 140))
    desk.restart().settle()
    t.same(idsIn(desk), span(72, 140), `cut after ${kept}`)
    const [{ armed_at: armedAt, skipped, id_range: range } = {}, ...more] = saidBy(desk)
    t.same([skipped, range, more], [Number(armedAt) - 71, [72, armedAt], []])
    const woken = desk.records().filter(({ event }) => event === 'new')
    t.same(
      woken.map(({ payload }) => Number(payload?.['id'])).sort((a, b) => a - b),
      span(Number(armedAt) + 1, 140),
      'what is no old mail wakes',
    )
    t.not(desk.payload('alert', 'argus/bounded-window')?.['status'], 'open')
    await desk.store.verified(t)
    if (kept > Math.max(count, again)) break
  }
})

t.test('first contact - retention takes nothing that is still to be counted (KS-94, JF-79)', async t => {
  const read = (to: number): RowLike[] => span(1, to).map(id => ({ id, read: true }))
  const desk = new CoreHarness(t, {}, { page: inboxOf(read(80)) })
  desk.journal.close()
  desk.journalOptions = { retainRead: 1 }
  cutCommit(desk.start(), (_, at) => at < 3)
  desk.script.page = windowOf(read(110))
  desk.restart().settle()
  desk.journal.roll()
  desk.script.page = inboxOf(read(110))
  desk.restart().settle()
  t.match(saidBy(desk), [{ skipped: 39, id_range: [72, 110] }])
  desk.journal.roll()
  t.equal([...desk.journal.state.outlines('message')].length, 1, 'and then it may')
})

/** The first commit of a first contact with 72 to 80 is cut, and a power loss takes 72 and 73 from it. */
function torn(t: Test, keeps: (draft: Draft, at: number) => boolean): CoreHarness {
  const desk = new CoreHarness(t, {}, { page: inboxOf(span(1, 80)) })
  cutCommit(desk, keeps)
  t.equal(
    loseLines(desk, line => line.includes('"argus/72"') || line.includes('"argus/73"')),
    2,
  )
  return desk
}

t.test(
  'first contact - what a power loss took of it is news, and not counted as skipped (KS-28, KS-31)',
  async t => {
    const desk = torn(t, ({ event }) => event === undefined)
      .start()
      .settle()
    const back = ['baseline_skipped', 'armed 0', 'new 72', 'new 73', 'cleared bounded-window']
    t.same(desk.story(), ['alert bounded-window', 'genesis list', ...back])
    t.match(saidBy(desk), [{ armed_at: 80, skipped: 7, id_range: [74, 80] }])
    t.same(desk.restart().settle().story().at(-1), 'armed 80')
  },
)

t.test('first contact - cut off by a power loss it is walked down to what is left (KS-94, RC-7)', async t => {
  const desk = torn(t, ({ item_type }) => item_type === 'message')
  desk.script.page = inboxOf(span(1, 110))
  desk.start().startOn({ isWhole: true, holes: [] }).settle()
  t.same(desk.story().slice(0, 2), ['alert bounded-window', 'backfill 81'])
  t.same(desk.pages(), ['newest', 102, 93, 84], 'no page below it')
  t.same(idsIn(desk), span(74, 110))
  t.match(saidBy(desk), [{ armed_at: 110, skipped: 37, id_range: [74, 110] }])
  t.match(desk.payload('alert', 'argus/bounded-window'), { status: 'cleared', cursor_at: 0 })
  t.same(desk.restart().settle().story(), ['armed 110'])
})

import t, { type Test } from 'tap'
import { CoreHarness, cut, failure, type Script, whole } from './core-harness.js'
import { loseLines } from './lose-lines.js'

const span = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n)

/** An inbox that shows its newest nine messages, and nine more with each page of a walk. */
function inboxOf(ids: readonly number[]): Script['page'] {
  return ({ beforeId }) => {
    const below = ids.filter(id => beforeId === undefined || id < beforeId)
    const shown = below.slice(-9)
    return shown.length < below.length ? cut(shown) : whole(shown)
  }
}

/** A desk on a journal into which a state file with this cursor was imported. */
function imported(t: Test, cursor: number, page: Script['page'], options = {}): CoreHarness {
  const desk = new CoreHarness(t, options, { page })
  const payload = {
    ...{ schema_version: 1, persona: 'argus', cursor: 0, floor: 0, state: 'up', watched: true },
    ...{ unread_urgent: 0, silent_to: cursor, seeded: cursor },
  }
  const summary = 'argus is taken over'
  desk.journal.append([
    { agent: 'argus', action: 'create', item_type: 'persona', item_id: 'argus', summary, payload },
  ])
  desk.story()
  return desk.restart()
}

/** What happened since; an import stands before the registry, so that note comes at its own time. */
const storyOf = (desk: CoreHarness): string[] => desk.story().filter(line => line !== 'genesis list')

const persona = (desk: CoreHarness): Readonly<Record<string, unknown>> | undefined =>
  desk.payload('persona', 'argus')

/** The two ways in which a seed comes. */
const seeds = {
  import: imported,
  '--seed-at': (t: Test, seedAt: number, page: Script['page'], options = {}): CoreHarness =>
    new CoreHarness(t, { seedAt, ...options }, { page }),
} as const

for (const [name, seededAt] of Object.entries(seeds)) {
  t.test(`${name} - above everything visible asks for one page and opens no alert (KS-35)`, async t => {
    const desk = seededAt(t, 601, inboxOf(span(1, 600))).settle()
    t.same(storyOf(desk), [
      ...['persona', ...span(592, 600).map(id => `silent ${id}`), 'seed_ahead', 'armed 600'],
    ])
    t.same(desk.pages(), ['newest'])
    t.match(persona(desk), { floor: 592, cursor: 600, seeded: 601, silent_to: 601, current_max: 600 })
    desk.script.page = inboxOf(span(1, 602))
    t.same(desk.pass(1000).story(), ['silent 601', 'new 602'])
    t.same(desk.pages(), ['newest', 'newest'])
    await desk.store.verified(t)
  })

  t.test(`${name} - within the newest page splits it (KS-35, KS-36)`, async t => {
    const desk = seededAt(t, 595, inboxOf(span(1, 600))).settle()
    t.same(storyOf(desk), [
      ...['persona', ...span(592, 595).map(id => `silent ${id}`), 'armed 595'],
      ...span(596, 600).map(id => `new ${id}`),
    ])
    t.same(desk.pages(), ['newest'])
    t.match(persona(desk), { floor: 592 })
  })

  t.test(`${name} - below the newest page is where the walk ends (KS-23, KS-35)`, async t => {
    const desk = seededAt(t, 570, inboxOf(span(1, 600))).settle()
    const news = span(571, 600).map(id => `new ${id}`)
    t.same(storyOf(desk), ['persona', 'armed 0', ...news])
    t.same(desk.pages(), ['newest', 592, 583, 574], 'no page that shows nothing above the seed')
    t.match(persona(desk), { floor: 571 })
    t.same(desk.restart().settle().story(), ['armed 600'])
    await desk.store.verified(t)
  })

  t.test(`${name} - a walk that stays open is pinned at the seed, after it armed (KS-25, KS-37)`, async t => {
    const inbox = inboxOf(span(1, 600))
    const desk = seededAt(t, 570, query => (query.beforeId === undefined ? inbox(query) : failure()))
    t.same(storyOf(desk.settle()), [
      ...['persona', 'armed 0', 'alert bounded-window', ...span(592, 600).map(id => `new ${id}`)],
    ])
    t.match(desk.payload('alert', 'argus/bounded-window'), { cursor_at: 570, window_floor: 592 })
    t.equal(desk.core.status().personas[0]?.watermark, 570)
    desk.script.page = inbox
    const closed = desk.restart().settle().story()
    t.same(closed, ['armed 570', ...span(571, 591).map(id => `new ${id}`), 'cleared bounded-window'])
  })

  t.test(`${name} - a cap counts what lies above it, walk included (KS-34; B8, B9, G31, G32)`, async t => {
    const desk = seededAt(t, 570, inboxOf(span(1, 600)), { maxReplay: 2 }).settle()
    t.same(storyOf(desk), [
      ...['persona', ...span(571, 600).map(id => `silent ${id}`), 'replay_capped', 'armed 600'],
    ])
    t.match(persona(desk), { capped_to: 600, dropped: 30, floor: 571 })
  })

  t.test(`${name} - into an empty inbox misses nothing that comes later (KS-29, KS-35)`, async t => {
    const desk = seededAt(t, 600, () => whole([])).settle()
    t.same(storyOf(desk), ['persona', 'seed_ahead', 'armed 0'])
    t.match(persona(desk), { floor: 1, cursor: 0 })
    desk.script.page = inboxOf(span(1, 30))
    t.same(
      desk.restart().settle().story(),
      [...span(1, 30).map(id => `silent ${id}`), 'armed 30'],
      'of a server whose ids began again',
    )
  })

  t.test(`${name} - of 0 walks down to the first message (KS-35; B14)`, async t => {
    const desk = seededAt(t, 0, inboxOf(span(1, 30))).settle()
    t.same(storyOf(desk), ['persona', 'armed 0', ...span(1, 30).map(id => `new ${id}`)])
  })

  t.test(`${name} - cut off anywhere it goes on above its floor (KS-35, KS-37, KS-47)`, async t => {
    const inbox = inboxOf(span(1, 600))
    const broken: Script['page'] = query => (query.beforeId === undefined ? inbox(query) : failure())
    for (let kept = 1; kept <= 12; kept++) {
      const desk = seededAt(t, 570, broken, { maxReplay: 500 })
      const { now } = desk
      const [ask] = desk.core.next(now).asks
      desk.core.answered(
        {
          kind: 'page',
          id: ask?.id ?? 0,
          answer: { ok: true, value: cut(span(592, 600)), sentMs: now.monoMs, receivedMs: now.monoMs },
        },
        now,
      )
      const [walk] = desk.core.next(now).asks
      const lost = { ok: false, failure: failure(), sentMs: now.monoMs, receivedMs: now.monoMs } as const
      desk.core.answered({ kind: 'page', id: walk?.id ?? 0, answer: lost }, now)
      desk.journal.append(desk.core.commit(now)?.drafts.slice(0, kept) ?? [])
      desk.script.page = inboxOf(span(1, 640))
      desk.restart().settle()
      const ids = desk
        .records()
        .filter(({ item_type }) => item_type === 'message')
        .map(({ event, payload }) => [event, payload?.['id']])
      t.same(
        ids.map(([, id]) => Number(id)).sort((a, b) => a - b),
        span(571, 640),
        `cut after ${kept}`,
      )
      t.ok(ids.every(([event]) => event === 'new'))
      t.ok(desk.pages().every(page => page === 'newest' || page > 570))
      let top = 0
      for (const { item_type, payload } of desk.records()) {
        if (item_type === 'message') top = Math.max(top, Number(payload?.['id']))
        if (item_type === 'persona') t.ok(Number(payload?.['cursor']) <= top, 'no cursor is ahead')
      }
      t.not(desk.payload('alert', 'argus/bounded-window')?.['status'], 'open')
      await desk.store.verified(t)
    }
  })
}

t.test('seed - a page that ends right above it is the last (KS-23, KS-35)', async t => {
  const desk = new CoreHarness(t, { seedAt: 573 }, { page: inboxOf(span(1, 600)) }).settle()
  t.same(desk.pages(), ['newest', 592, 583])
  t.match(persona(desk), { floor: 574 })
  t.same(desk.pass(3000).story().slice(-2), ['new 600', 'genesis list'])
})

t.test('seed - of a persona with a record ends its walk too (KS-35)', async t => {
  const desk = new CoreHarness(t, {}, { page: () => whole([100]) }).settle()
  desk.story()
  desk.script.page = inboxOf([100, ...span(201, 600)])
  t.same(desk.restart({ seedAt: 580 }).settle().story(), [
    ...['persona', 'armed 100', ...span(581, 600).map(id => `new ${id}`)],
  ])
  t.match(persona(desk), { floor: 581, seeded: 580 })
  t.same(desk.restart().settle().story(), ['armed 600'], 'and a unit may keep it')
  await desk.store.verified(t)
})

t.test('seed - above a pin ends the walk of that pin (KS-26, KS-35)', async t => {
  const desk = new CoreHarness(t, {}, { page: () => whole([100]) }).settle()
  desk.script.page = query => (query.beforeId === undefined ? cut([200]) : failure())
  desk.restart().settle()
  t.match(desk.payload('alert', 'argus/bounded-window'), { status: 'open', cursor_at: 100 })
  desk.story()
  desk.script.page = inboxOf([100, ...span(101, 300)])
  t.same(desk.restart({ seedAt: 295 }).settle().story(), [
    ...['persona', 'silent 292', 'silent 293', 'silent 294', 'silent 295', 'armed 100'],
    ...[...span(296, 300).map(id => `new ${id}`), 'cleared bounded-window'],
  ])
  t.match(persona(desk), { floor: 292 })
  await desk.store.verified(t)
})

t.test('seed - one that the page reaches below leaves the floor where it was (KS-35)', async t => {
  const desk = new CoreHarness(t, {}, { page: () => cut([90, 100]) }).settle()
  desk.script.page = () => cut([90, 100, 101, 150])
  t.same(desk.restart({ seedAt: 101 }).settle().story().slice(-3), ['silent 101', 'armed 101', 'new 150'])
  t.match(persona(desk), { floor: 90 })
})

t.test('seed - one below the seed that the record keeps is refused (KS-35)', async t => {
  const desk = imported(t, 600, () => whole([3, 539]))
  t.throws(() => desk.restart({ seedAt: 300 }), {
    code: 'config_invalid',
    message: /--seed-at 300: .* up to message 600 is already/,
  })
})

t.test(
  'import - what a power loss takes of its first poll is walked for above the seed alone (KS-35, RC-7)',
  async t => {
    const desk = imported(t, 570, inboxOf(span(1, 600))).settle()
    desk.story()
    const taken = ['"argus/571"', '"argus/572"', '"argus/573"', '"floor":571']
    loseLines(desk, line => taken.some(text => line.includes(text)))
    desk.start().settle()
    t.match(desk.story(), ['alert bounded-window', 'persona', 'armed 0', 'new 571', 'new 572', 'new 573'])
    t.same(desk.pages().slice(-4), ['newest', 592, 583, 574], 'no page below the seed')
    t.match(persona(desk), { floor: 571, seeded: 570 })
    t.match(desk.payload('alert', 'argus/bounded-window'), { status: 'cleared', cursor_at: 0, reconciled: 3 })
    t.same(desk.restart().settle().story(), ['armed 600'])
  },
)

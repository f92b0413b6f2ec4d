import t, { type Test } from 'tap'
import { CoreHarness, entry, failure, whole } from './core-harness.js'

const all = (t: Test, options = {}, script = {}): CoreHarness =>
  new CoreHarness(
    t,
    { personas: undefined, fastPath: true, ...options },
    { page: () => whole([5]), ...script },
  )

const names = (desk: CoreHarness): string[] => desk.core.status().personas.map(({ persona }) => persona)
const alertsOf = (desk: CoreHarness, kind: string): string[] =>
  desk
    .records()
    .filter(({ item_id, event }) => event === 'alert' && item_id.endsWith(`/${kind}`))
    .map(({ payload }) => String(payload?.['persona']))

t.test(
  'directory - all of it is watched, two spellings are two personas (KS-67, KS-68; K1, K18)',
  async t => {
    const desk = all(t, {}, { directory: () => ['a', 'B', 'river x', 'b'] }).settle()
    t.same(names(desk), ['a', 'B', 'river x', 'b'])
    t.ok(desk.core.status().personas.every(({ armed }) => armed))
    t.equal(desk.asked.filter(({ ask }) => ask.kind === 'counts').length, 1)
  },
)

t.test('names - are data: paths, keys of objects, emoji and long ones (KS-70; K16)', async t => {
  const odd = ['a/b', 'a_b', '..', '../../etc/x', 'constructor', '__proto__', '🐝', 'x'.repeat(300)]
  const desk = all(t, {}, { directory: () => odd }).settle()
  t.same(names(desk), odd)
  t.ok(desk.core.status().personas.every(({ armed, watermark }) => armed && watermark === 5))
  desk.script.page = () => whole([5, 6])
  desk.restart().settle()
  t.equal(desk.records().filter(({ event }) => event === 'new').length, odd.length)
  await desk.store.verified(t)
})

t.test('list - trimmed, without blanks, repeats and lone surrogates (KS-67, KS-70)', async t => {
  const desk = new CoreHarness(t, { personas: [' a ', '', 'a', 'A', '\ud800'] }, {}).settle()
  t.same(names(desk), ['a', 'A'])
  t.equal(desk.core.notes().filter(({ code }) => code === 'persona_refused').length, 1)
})

t.test('genesis - once every selected persona is in, or is called missing (KS-40)', async t => {
  const page: CoreHarness['script']['page'] = ({ persona }) => (persona === 'b' ? failure(404) : whole([5]))
  const desk = all(t, { alertAfter: 2 }, { directory: () => ['a', 'b'], page }).settle()
  t.notOk(desk.records().some(({ item_id }) => item_id === 'registry_genesis'))
  desk.pass(1000)
  const [note, ...more] = desk.records().filter(({ item_id }) => item_id === 'registry_genesis')
  t.match(note?.payload, { mode: 'all', personas: ['a'], missing: ['b'] })
  t.same(more, [])
  desk.story()
  desk.script.page = () => whole([5])
  const late = desk.restart().settle().story()
  t.ok(late.includes('b: backfill 5'), 'a missing one is taken over silently, also after a restart')
  t.notOk(late.some(line => line.startsWith('genesis')))
})

t.test(
  'genesis - from a list to all it is said again, and who comes in then is backfilled (KS-33, KS-40)',
  async t => {
    const desk = all(t, { personas: ['a'] }, { directory: () => ['a', 'b'] }).settle()
    desk.story()
    const story = desk.restart({ personas: undefined }).settle().story()
    t.ok(story.includes('b: backfill 5'))
    t.ok(story.includes('genesis all'))
    t.notOk(desk.restart().settle().story().includes('genesis all'))
    await desk.store.verified(t)
  },
)

t.test('genesis - its mode survives a checkpoint (KS-33, KS-40)', async t => {
  const desk = all(t, {}, { directory: () => ['a'] }).settle()
  desk.journal.checkpoint()
  desk.script.directory = () => ['a', 'b']
  desk.story()
  const story = desk.restart().settle().story()
  t.ok(story.includes('b: persona_added'))
  t.notOk(story.includes('genesis all'))
  await desk.store.verified(t)
})

t.test(
  'added - a new persona comes in with an announcement, and its mail is news (KS-33; K2, K4)',
  async t => {
    const desk = all(t, { rediscoverSeconds: 1 }, { directory: () => ['argus'] }).settle()
    desk.story()
    desk.script.directory = () => ['argus', 'river']
    desk.script.page = ({ persona }) => (persona === 'river' ? whole([7, 8]) : whole([5]))
    const story = desk
      .pass(1000)
      .story()
      .filter(line => line.startsWith('river'))
    t.same(story, ['river: persona_added', 'river: armed 0', 'river: new 7', 'river: new 8'])
    desk.script.directory = () => failure(500)
    desk.pass(3000)
    t.same(names(desk), ['argus', 'river'])
    const notes = desk.core.notes()
    t.same(
      notes.filter(({ code }) => code === 'watching').map(({ message }) => message),
      ['argus', 'river'].map(name => `watches ${name}, by the server's list of personas`),
      'D2: the log names what is watched',
    )
    const codes = notes.map(({ code }) => code)
    t.equal(codes.filter(code => code === 'directory_unavailable').length, 1)
  },
)

t.test('added - a name that is new in the counts is looked up at once (KS-69; K2, K3)', async t => {
  const desk = all(t, {}, { directory: () => ['argus'], counts: () => ({ argus: 1 }) }).settle()
  desk.story()
  desk.script.counts = () => ({ argus: 1, river: 1 })
  desk.script.directory = () => ['argus', 'river']
  const story = desk.pass(1000).story()
  t.same(story, ['river: persona_added', 'river: armed 0', 'river: new 5'])
})

t.test('list - names in the counts do not matter to it (K5)', async t => {
  const desk = all(t, { personas: ['argus'] }, { counts: () => ({ argus: 1, zz: 3 }) }).pass(3000)
  t.same(names(desk), ['argus'])
  t.equal(desk.asked.filter(({ ask }) => ask.kind === 'directory').length, 0)
  t.same(alertsOf(desk, 'stranded-mail'), [])
})

t.test('selection - a persona that is not selected any more is recorded so (KS-41)', async t => {
  const desk = all(t, { personas: ['a', 'b'] }).settle()
  desk.restart({ personas: ['a'] }).settle()
  t.match(desk.payload('persona', 'b'), { watched: false, cursor: 5 })
  desk.restart({ personas: ['a', 'b'] }).settle()
  t.match(desk.payload('persona', 'b'), { watched: true })
})

const k6 = [
  entry('a', { memoryCount: 3, readCount: undefined }),
  entry('ghostreg', { memoryCount: 0, readCount: undefined }),
  entry('idle', { memoryCount: 0, readCount: undefined }),
  entry('unk', { memoryCount: undefined, readCount: undefined }),
]
const k6counts = { a: 1, A: 1, all: 2, ghostreg: 1, unk: 1 }

t.test(
  'stranded mail - is announced to personas with a consumer, once per condition (KS-63, KS-65; K6, K7, K8)',
  async t => {
    const desk = all(t, {}, { directory: () => k6, counts: () => k6counts, page: () => whole([]) }).pass(3000)
    t.same(alertsOf(desk, 'stranded-mail'), ['a', 'unk'])
    t.match(
      desk.payload('alert', 'a/stranded-mail'),
      {
        stranded_inboxes: ['A', 'all', 'ghostreg'],
        reason:
          'stranded-mail: A (1 unread; the server does not list it, but a), all (2 unread; the server does not list it) and ghostreg (1 unread; no sign of use) have unread mail, but no agent seems to read it',
      },
      'E8: with counts, reasons and a name that differs in case',
    )
    t.notOk(names(desk).includes('A'))
    desk.script.counts = () => ({ a: 1 })
    desk.pass(2000)
    t.match(desk.payload('alert', 'a/stranded-mail'), { status: 'cleared' })
    desk.script.counts = () => k6counts
    desk.pass(2000)
    t.same(alertsOf(desk, 'stranded-mail'), ['a', 'unk', 'a', 'unk'])
    const silenced = all(t, { strandedAlerts: false }, { directory: () => k6, counts: () => k6counts }).pass(
      3000,
    )
    t.same(alertsOf(silenced, 'stranded-mail'), [])
  },
)

t.test('stranded mail - without any consumer it is announced to all (KS-65; K9)', async t => {
  const directory = (): ReturnType<typeof entry>[] => [
    entry('a', { memoryCount: 0, readCount: 4 }),
    entry('b', { memoryCount: 0, readCount: 4 }),
  ]
  const desk = all(t, {}, { directory, counts: () => ({ zz: 1 }), page: () => whole([]) }).pass(3000)
  t.same(alertsOf(desk, 'stranded-mail'), ['a', 'b'])
})

t.test(
  'stranded mail - retired debris is loud, dormant and write-only inboxes are not (KS-63; K19)',
  async t => {
    const directory = (): ReturnType<typeof entry>[] => [
      entry('a'),
      entry('debris', { readCount: 0, isRetired: true }),
      entry('dormant', { readCount: 0 }),
      entry('sink', { readCount: 0, isRetired: true, isWriteOnly: true }),
      entry('unread-unknown', { readCount: undefined, memoryCount: 0 }),
    ]
    const counts = (): Record<string, number> => ({ debris: 1, dormant: 1, sink: 1, 'unread-unknown': 1 })
    const desk = all(t, {}, { directory, counts, page: () => whole([]) }).pass(3000)
    t.match(desk.payload('alert', 'a/stranded-mail'), {
      stranded_inboxes: ['debris', 'unread-unknown'],
      dormant_inboxes: ['dormant', 'sink'],
    })
    t.same(
      desk.core
        .notes()
        .filter(({ code }) => code === 'dormant_inbox')
        .map(({ persona }) => persona),
      ['dormant', 'sink'],
    )
  },
)

const urgent = (t: Test, options = {}): CoreHarness => {
  const page: CoreHarness['script']['page'] = ({ persona }) =>
    persona === 'loom' ? whole([10]) : whole([{ id: 9, from: 'loom' }])
  return all(t, options, {
    directory: () => ['a', 'loom'],
    counts: () => ({ loom: [1, 1] as const }),
    page,
  }).pass(2000)
}

t.test(
  'urgent unanswered - is announced to all consumers, cleared by absence, announced again (KS-64; K10, K11, K13)',
  async t => {
    const desk = urgent(t)
    t.same(alertsOf(desk, 'urgent-unanswered'), ['a', 'loom'])
    t.match(desk.payload('alert', 'a/urgent-unanswered'), { urgent_unanswered: ['loom'] })
    t.match(desk.payload('persona', 'loom'), { unread_urgent: 1 })
    desk.script.counts = () => ({ loom: [1, 0] as const })
    desk.pass(2000)
    t.match(desk.payload('alert', 'a/urgent-unanswered'), { status: 'cleared' })
    t.match(desk.payload('persona', 'loom'), { unread_urgent: 0 })
    desk.script.counts = () => ({ loom: [1, 2] as const })
    desk.pass(2000)
    t.same(alertsOf(desk, 'urgent-unanswered'), ['a', 'loom', 'a', 'loom'])
    t.same(alertsOf(urgent(t, { urgentAlerts: false }), 'urgent-unanswered'), [])
  },
)

t.test(
  'urgent unanswered - A5: an alert waits for --urgent-after, counted from when mail is seen (KS-95)',
  async t => {
    // Counts come in once an hour: only its own alarm clock can end the grace.
    const desk = urgent(t, { urgentAfterMs: 300_000, pollSeconds: 3600 })
    t.same(alertsOf(desk, 'urgent-unanswered'), [])
    t.same(alertsOf(desk.pass(297_900), 'urgent-unanswered'), [], 'a tenth of a second is left')
    t.same(alertsOf(desk.pass(100), 'urgent-unanswered'), ['a', 'loom'])
    const answered = urgent(t, { urgentAfterMs: 300_000 })
    answered.script.counts = () => ({ loom: [1, 0] as const })
    answered.pass(100_000)
    answered.script.counts = () => ({ loom: [1, 1] as const })
    t.same(alertsOf(answered.pass(299_000), 'urgent-unanswered'), [], 'other mail has a grace of its own')
    t.same(alertsOf(answered.pass(3000), 'urgent-unanswered'), ['a', 'loom'])
  },
)

t.test('urgent unanswered - A5: an open alert has no second grace after a restart (KS-95)', async t => {
  const desk = urgent(t, { urgentAfterMs: 300_000 }).pass(300_000)
  desk.story()
  t.same(desk.restart().pass(10_000).story(), ['a: armed 9', 'loom: armed 10'])
  t.match(desk.payload('alert', 'a/urgent-unanswered'), { status: 'open' })
})

t.test('urgent unanswered - A5: other names are announced once an hour at most (KS-95)', async t => {
  const names = ['a', 'b', 'c', 'd', 'loom']
  const page: CoreHarness['script']['page'] = ({ persona }) =>
    persona === 'loom' ? whole(names.map((from, n) => ({ id: n + 1, from }))) : whole([10])
  const counts = (some: readonly string[]) => () =>
    Object.fromEntries(names.map(name => [name, [1, some.includes(name) ? 1 : 0] as const]))
  const desk = all(t, { pollSeconds: 60 }, { directory: () => names, counts: counts(['a']), page })
  const said = (): string[] => desk.story().filter(line => line.startsWith('loom: ') && /urgent/.test(line))
  desk.pass(61_000)
  t.same(said(), ['loom: alert urgent-unanswered'])
  desk.script.counts = counts(['a', 'b'])
  desk.pass(3_500_000)
  t.same(said(), ['loom: update urgent-unanswered'])
  t.match(desk.payload('alert', 'loom/urgent-unanswered'), { urgent_unanswered: ['a', 'b'] })
  desk.script.counts = counts(['a', 'b', 'c'])
  desk.pass(130_000)
  t.same(said(), ['loom: alert urgent-unanswered'], 'an hour after the last announcement')
  desk.script.counts = counts(['a', 'b', 'c', 'd'])
  desk.restart().pass(61_000)
  t.same(said(), ['loom: alert urgent-unanswered'], 'that of an earlier process does not count')
  desk.script.counts = counts([])
  desk.pass(61_000)
  desk.script.counts = counts(['d'])
  desk.pass(61_000)
  t.same(
    said(),
    ['loom: cleared urgent-unanswered', 'loom: alert urgent-unanswered'],
    'each opening is announced',
  )
})

t.test('urgent unanswered - is over once it is known to have written (KS-64, KS-71; K12)', async t => {
  const desk = urgent(t)
  desk.script.page = ({ persona }) =>
    persona === 'loom'
      ? whole([10])
      : whole([
          { id: 9, from: 'loom' },
          { id: 11, from: 'loom' },
        ])
  desk.core.poke(desk.now)
  desk.settle()
  t.match(desk.payload('alert', 'loom/urgent-unanswered'), { status: 'cleared' })
})

t.test(
  'urgent unanswered - an answer that lies in an inbox polled a moment later is waited for (KS-64)',
  async t => {
    /** loom wrote once; then it has urgent mail, and the inbox of a is asked for and does not answer yet. */
    const asked = (): CoreHarness => {
      const before = ({ persona }: { persona: string }): ReturnType<typeof whole> =>
        whole(persona === 'loom' ? [] : [{ id: 9, from: 'loom' }])
      const desk = all(t, { pollSeconds: 30 }, { directory: () => ['a', 'loom'], page: before }).settle()
      desk.script.counts = () => ({ loom: [1, 1] as const, a: 2 })
      desk.script.page = ({ persona }) => (persona === 'loom' ? whole([{ id: 10, from: 'a' }]) : undefined)
      desk.pass(30_500)
      t.ok(desk.hanging.length > 0)
      t.equal(desk.core.next(desk.now).wakeAtMs, 32_000, 'a second after the counts came')
      t.same(alertsOf(desk, 'urgent-unanswered'), [])
      return desk
    }
    const desk = asked()
    desk.script.page = ({ persona }) =>
      whole(persona === 'loom' ? [{ id: 10, from: 'a' }] : [9, 11].map(id => ({ id, from: 'loom' })))
    desk.release().pass(3000)
    t.same(alertsOf(desk, 'urgent-unanswered'), [], 'it held the answer')
    t.same(
      alertsOf(asked().pass(600), 'urgent-unanswered'),
      ['a', 'loom'],
      'one that hangs is waited for a second',
    )
  },
)

t.test(
  'urgent unanswered - while an inbox was never polled no persona is known to be silent (KS-64)',
  async t => {
    const page: CoreHarness['script']['page'] = ({ persona }) =>
      persona === 'b' ? failure() : persona === 'loom' ? whole([10]) : whole([{ id: 9, from: 'loom' }])
    const desk = all(
      t,
      { alertAfter: 3 },
      { directory: () => ['a', 'b', 'loom'], counts: () => ({ loom: [1, 1] as const }), page },
    ).settle()
    desk.pass(1500)
    t.same(alertsOf(desk, 'urgent-unanswered'), [])
    desk.pass(5000)
    t.same(
      alertsOf(desk, 'urgent-unanswered').sort(),
      ['a', 'b', 'loom'],
      'one that is down is not waited for',
    )
  },
)

t.test('urgent unanswered - is not announced before anything was observed (KS-71)', async t => {
  const desk = all(
    t,
    {},
    {
      directory: () => ['a', 'loom'],
      counts: () => ({ loom: [1, 1] as const }),
      page: () => whole([]),
    },
  ).pass(2000)
  t.same(alertsOf(desk, 'urgent-unanswered'), [])
})

t.test('names - a server that makes up unusable ones fills no log (KS-70)', async t => {
  const desk = all(t).settle()
  for (let n = 0; n < 300; n++) {
    const entries = [entry('argus')]
    const answer = { ok: true, value: { entries, refused: [`"${n}"`] }, sentMs: 0, receivedMs: 0 } as const
    desk.core.answered({ kind: 'directory', id: 0, answer }, desk.now)
  }
  const said = desk.core.notes().filter(({ code }) => code === 'persona_refused')
  t.equal(said.length, 101)
  t.match(said.at(-1)?.message, /further ones are not logged/)
})

t.test('directory - other names every time make no list that grows for ever (KS-67)', async t => {
  const desk = all(t, { pollSeconds: 60 }, { page: () => undefined }).settle()
  for (let n = 0; n < 3; n++) {
    const entries = Array.from({ length: 900 }, (_, at) => entry(`p${n}-${at}`))
    const answer = { ok: true, value: { entries, refused: [] }, sentMs: 0, receivedMs: 0 } as const
    desk.core.answered({ kind: 'directory', id: 0, answer }, desk.now)
  }
  t.equal(desk.core.status().personas.length, 2000)
  t.equal(desk.core.notes().filter(({ code }) => code === 'personas_full').length, 1)
})

t.test('account alerts - their reason names the personas, in singular or plural (KS-61, KS-91)', async t => {
  const names = ['a', ...Array.from({ length: 7 }, (_, n) => `p${n}`)]
  const counts = (): Record<string, readonly [number, number]> =>
    Object.fromEntries(names.slice(1).map(name => [name, [1, 1] as const]))
  const page: CoreHarness['script']['page'] = ({ persona }) =>
    persona === 'a'
      ? whole([{ id: 9, from: 'a' }, ...names.slice(1).map((from, n) => ({ id: n + 1, from }))])
      : whole([10])
  const desk = all(t, {}, { directory: () => names, counts, page }).pass(2000)
  const reason = (): unknown => desk.payload('alert', 'a/urgent-unanswered')?.['reason']
  t.equal(
    reason(),
    'urgent-unanswered: p0, p1, p2, p3, p4 and 2 more have unread urgent mail and have written no message since it came',
  )
  desk.script.counts = () => ({ p0: [1, 1], p1: [1, 1] })
  desk.pass(2000)
  t.equal(
    reason(),
    'urgent-unanswered: p0 and p1 have unread urgent mail and have written no message since it came',
  )
  desk.script.counts = () => ({ p1: [1, 1], zz: 1 })
  desk.pass(2000)
  t.equal(reason(), 'urgent-unanswered: p1 has unread urgent mail and has written no message since it came')
  t.equal(
    desk.payload('alert', 'a/stranded-mail')?.['reason'],
    'stranded-mail: zz (1 unread; the server does not list it) has unread mail, but no agent seems to read it',
  )
})

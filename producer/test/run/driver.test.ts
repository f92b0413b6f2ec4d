import {
  type Ask,
  type Draft,
  Driver,
  type Ending,
  type Journal,
  type RunEntry,
} from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { HandLoop } from '../kit/hand-loop.js'
import { HeldSource } from '../kit/held-source.js'
import { ScriptedCore } from '../kit/scripted-core.js'
import { message, messages, TestStore } from '../kit/store.js'

const counts = (id: number): Ask => ({ kind: 'counts', id, query: { waitSeconds: 50 } })
const page = (id: number, persona = 'river'): Ask => ({ kind: 'page', id, query: { persona } })

function note(kind: string, fields: object) {
  const payload = { schema_version: 1, kind, ...fields }
  return { agent: 'kim', action: 'journal_note', item_type: 'journal', item_id: kind, summary: kind, payload }
}

class Bench {
  readonly store: TestStore
  readonly loop: HandLoop
  readonly core: ScriptedCore = new ScriptedCore()
  readonly source: HeldSource = new HeldSource()
  readonly logged: RunEntry[] = []
  readonly journal: Journal
  readonly driver: Driver
  ending: Ending | undefined

  constructor(t: Test, beforeOpen: (store: TestStore) => void = () => undefined) {
    this.store = new TestStore(t)
    beforeOpen(this.store)
    this.loop = new HandLoop(this.store.clock)
    this.journal = this.store.open()
    this.driver = new Driver({
      journal: this.journal,
      source: this.source,
      core: this.core,
      clock: this.store.clock,
      turn: this.loop.turn,
      timers: this.loop.timers,
      log: entry => void this.logged.push(entry),
      opening: note('producer_started', { version: '9.8.7', pid: 7, node: 'v20', platform: 'test' }),
      closing: reason => note('producer_stopped', { reason }),
    })
    void this.driver.ended.then(ending => {
      this.ending = ending
    })
  }

  async start(): Promise<void> {
    this.driver.wake()
    await this.loop.run()
  }

  codes(): string[] {
    return this.logged.map(({ code }) => code)
  }

  kinds(): string[] {
    return this.store.lines().map(line => (line.item_type === 'journal' ? line.item_id : line.action))
  }
}

t.test(
  'driver - logs first that it began, last why it stopped, and sends the requests of the core',
  async t => {
    const bench = new Bench(t)
    bench.core.asks = [counts(1), page(2)]
    bench.core.commits = [[message(1)]]
    await bench.start()
    t.same(bench.kinds(), ['genesis', 'producer_started', 'create'])
    t.same(
      bench.source.held.map(({ kind }) => kind),
      ['counts', 'page'],
    )
    bench.driver.stop('SIGTERM')
    await bench.loop.run()
    t.same(bench.ending, { kind: 'stopped', reason: 'SIGTERM' })
    t.same(bench.kinds().at(-1), 'producer_stopped')
    t.ok(
      bench.source.held.every(({ signal }) => signal.aborted),
      'KS-8 CL-14: a held request ends with it',
    )
    t.same(bench.core.seen, [], 'what was ended is no answer')
    bench.driver.stop('again')
    t.equal(bench.driver.poke(), 0, 'nothing is due in what has ended')
    t.equal(bench.store.notes('producer_stopped').length, 1)
    await bench.store.verified(t)
  },
)

t.test('driver - KS-45 answers of one turn are handed in together, before anything is committed', async t => {
  const bench = new Bench(t)
  bench.core.asks = [page(1, 'argus'), page(2, 'loom'), page(3)]
  await bench.start()
  const turns = bench.loop.turns
  const [argus, loom] = bench.source.held
  argus?.answer({})
  loom?.answer({})
  await bench.loop.run()
  t.same(
    bench.core.seen.map(({ id }) => id),
    [1, 2],
  )
  t.equal(bench.loop.turns, turns + 1)
  t.notOk(bench.source.held[2]?.signal.aborted)
})

t.test('driver - sleeps until the core wants to be asked, and not at all where it does not say', async t => {
  const bench = new Bench(t)
  await bench.start()
  t.same(bench.loop.waits, [], 'a held long poll needs no timer')
  bench.core.wakeAtMs = bench.store.clock.mono + 5000
  bench.driver.wake()
  await bench.loop.run()
  t.same(bench.loop.waits, [5000])
  const nexts = bench.core.nexts
  bench.core.wakeAtMs = undefined
  await bench.loop.advance(60_000)
  t.equal(bench.core.nexts, nexts + 1)
  bench.driver.poke('river')
  await bench.loop.run()
  t.same(bench.core.poked, ['river'], 'KS-57: a poke is a turn')
  t.equal(bench.core.nexts, nexts + 2)
})

t.test('driver - a long backlog leaves room between its commits', async t => {
  const bench = new Bench(t)
  bench.core.commits = Array.from({ length: 5 }, (_, n) => messages(n * 10 + 1, n * 10 + 10))
  const committed = bench.core.committed.bind(bench.core)
  bench.core.committed = outcome => {
    bench.store.clock.mono += 15
    committed(outcome)
  }
  await bench.start()
  t.same(bench.core.outcomes, Array(5).fill('durable'))
  t.equal(bench.loop.turns, 3, 'two commits a turn')
})

t.test('driver - JF-86 goes on without space, said once when it begins and once when it ends', async t => {
  const bench = new Bench(t)
  await bench.start()
  bench.store.fs.break('writeSync', 'seg-', 'ENOSPC')
  bench.core.commits = [[message(1)]]
  bench.driver.wake()
  await bench.loop.run()
  t.ok(bench.driver.isDiskFull)
  t.same(bench.loop.waits, [1000])
  bench.core.asks = [page(9)]
  bench.driver.poke()
  await bench.loop.run()
  t.equal(bench.source.held.length, 1, 'it goes on asking')
  t.same(bench.core.outcomes, ['full'], 'and tries no sooner for that')
  await bench.loop.advance(100_000)
  t.same(bench.codes(), ['disk_full'])
  t.same(bench.loop.waits.length, 1)
  t.ok((bench.loop.waits[0] ?? 0) <= 30_000)
  bench.store.fs.heal()
  await bench.loop.advance(30_000)
  t.same(bench.codes(), ['disk_full', 'disk_free'])
  t.notOk(bench.driver.isDiskFull)
  t.same(bench.kinds(), ['genesis', 'producer_started', 'create'])
  t.same(bench.loop.waits, [])
})

t.test('driver - a write that succeeded after all is reported to the core as moved', async t => {
  const bench = new Bench(t)
  await bench.start()
  bench.core.commits = [[message(1), message(2)]]
  bench.store.fs.break('writeSync', 'seg-', 400)
  bench.driver.wake()
  await bench.loop.run()
  bench.store.fs.heal()
  await bench.loop.advance(1000)
  t.same(bench.core.outcomes, ['full', 'moved'])
  await bench.store.verified(t)
})

t.test(
  'driver - JF-86 a store that was opened without space is written to as soon as there is some',
  async t => {
    const bench = new Bench(t, store => store.fs.break('writeSync', 'seg-', 'ENOSPC'))
    bench.core.asks = [page(1)]
    bench.core.commits = [[message(1)]]
    await bench.start()
    t.same(bench.codes(), ['disk_full'])
    t.equal(bench.source.held.length, 1)
    await bench.loop.advance(5000)
    t.same(bench.core.outcomes, [], 'nothing is tried before the note that opens this life')
    bench.store.fs.heal()
    await bench.loop.advance(5000)
    t.same(bench.kinds(), ['genesis', 'producer_started', 'create'])
    await bench.store.verified(t)
  },
)

t.test('driver - JF-86 a failed sync ends it, and nothing more is appended', async t => {
  const bench = new Bench(t)
  await bench.start()
  bench.core.asks = [counts(1)]
  bench.store.fs.break('fdatasyncSync', 'seg-', 'EIO')
  bench.core.commits = [[message(1)]]
  bench.driver.wake()
  await bench.loop.run()
  t.match(bench.ending, { kind: 'failed', error: { code: 'store_failed', message: /durable/ } })
  bench.store.fs.heal()
  bench.driver.stop('SIGTERM')
  await bench.loop.run()
  t.equal(bench.ending?.kind, 'failed')
  t.same(bench.store.notes('producer_stopped'), [])
})

t.test('driver - a stop without space says what is missing and is clean all the same', async t => {
  const bench = new Bench(t)
  await bench.start()
  bench.store.fs.break('writeSync', 'seg-', 'ENOSPC')
  bench.driver.stop('SIGINT')
  await bench.loop.run()
  t.same(bench.ending, { kind: 'stopped', reason: 'SIGINT' })
  t.same(bench.codes(), ['stopped_unsaid'])
})

t.test('driver - KS-51 a verdict ends it', async t => {
  const bench = new Bench(t)
  bench.core.asks = [page(1)]
  await bench.start()
  bench.core.onAnswer = () => {
    bench.core.verdict = { code: 'token_refused', message: 'the server refuses the token' }
  }
  bench.source.held[0]?.answer({})
  await bench.loop.run()
  t.match(bench.ending, { kind: 'verdict', verdict: { code: 'token_refused' } })
  t.same(
    bench.store.notes('producer_stopped').map(({ payload }) => payload?.['reason']),
    ['token_refused'],
  )
})

t.test(
  'CL-16 driver - a condition is a line of log when it begins and when it ends, once it is durable',
  async t => {
    const bench = new Bench(t)
    const alert = (status: string, event?: string): Draft => ({
      agent: 'river',
      action: 'update',
      item_type: 'alert',
      item_id: 'river/unreachable',
      summary: status === 'open' ? 'unreachable: refused' : 'unreachable: ended',
      event,
      payload: { schema_version: 1, persona: 'river', kind: 'unreachable', status },
    })
    bench.core.commits = [
      [alert('open', 'alert')],
      [alert('open')],
      [message(1), alert('cleared', 'recovered')],
    ]
    await bench.start()
    await bench.loop.advance(5000)
    t.match(bench.logged, [
      {
        level: 'warn',
        code: 'alert',
        persona: 'river',
        message: 'river is down (unreachable: refused)',
        fields: { kind: 'unreachable' },
      },
      { level: 'info', code: 'alert_ended', persona: 'river', message: 'river is up again' },
    ])
    t.equal(bench.logged.length, 2)
  },
)

/** An alert of one inbox; without a reason its end. */
const inboxAlert = (agent: string, reason?: string, kind = 'unreachable'): Draft => ({
  agent,
  action: 'update',
  item_type: 'alert',
  item_id: `${agent}/${kind}`,
  summary: reason ?? `${kind}: ended`,
  ...(reason === undefined ? {} : { event: 'alert' }),
  payload: { schema_version: 1, persona: agent, kind, status: reason === undefined ? 'cleared' : 'open' },
})

t.test('KS-96 log - D9: an outage of twenty inboxes is a line with their number and names', async t => {
  const bench = new Bench(t)
  const names = Array.from({ length: 20 }, (_, n) => `p${n}`)
  const lines = (): string[] => bench.logged.splice(0).map(({ message }) => message)
  bench.core.commits = names.map(name => [inboxAlert(name, 'http 502')])
  await bench.start()
  t.same(lines(), [], 'it waits for others')
  await bench.loop.advance(5000)
  t.match(bench.logged, [{ level: 'warn', code: 'alert', fields: { kind: 'unreachable', inboxes: 20 } }])
  t.same(lines(), ['20 inboxes are down (http 502): p0, p1, p2, p3, p4 and 15 more'])
  await bench.loop.advance(25_000)
  bench.core.commits = [[inboxAlert('late', 'http 404'), inboxAlert('p0'), inboxAlert('p1')]]
  bench.driver.wake()
  await bench.loop.run()
  await bench.loop.advance(29_999)
  t.same(lines(), [], 'as long as the outage has lasted')
  await bench.loop.advance(1)
  t.same(lines(), ['late is down (http 404)', '2 inboxes are up again: p0 and p1'])
  bench.core.commits = [
    [inboxAlert('p2')],
    [inboxAlert('p2', 'http 502')],
    [inboxAlert('a', 'why', 'id-regressed')],
  ]
  bench.driver.wake()
  await bench.loop.run()
  bench.driver.stop('SIGTERM')
  t.same(lines(), ['p2 is up again', 'a: why', 'p2 is down (http 502)'], 'in their order, and before the end')
})

t.test('driver - what stops is committed before it stops', async t => {
  const bench = new Bench(t)
  bench.core.asks = [page(1)]
  await bench.start()
  bench.core.onAnswer = () => void bench.core.commits.push([message(5)])
  bench.source.held[0]?.answer({})
  await new Promise(resolve => setImmediate(resolve))
  bench.driver.stop('SIGTERM')
  t.same(bench.kinds().slice(-2), ['create', 'producer_stopped'])
})

t.test('driver - a source that rejects, or a core that throws, is an end and never silence', async t => {
  const rejecting = new Bench(t)
  rejecting.core.asks = [page(1)]
  await rejecting.start()
  rejecting.source.held[0]?.reject(new TypeError('a bug'))
  await rejecting.loop.run()
  t.match(rejecting.ending, { kind: 'failed', error: { message: 'a bug' } })
  const throwing = new Bench(t)
  throwing.core.next = () => {
    throw new TypeError('another')
  }
  await throwing.start()
  t.match(throwing.ending, { kind: 'failed', error: { message: 'another' } })
})

/** An account-wide alarm as one inbox is told of it. */
const accountAlarm = (agent: string, names: readonly string[], event?: 'alert'): Draft => {
  const isOpen = names.length > 0
  return {
    agent,
    action: 'update',
    item_type: 'alert',
    item_id: `${agent}/urgent-unanswered`,
    summary: 'urgent-unanswered: …',
    ...(event === undefined ? {} : { event }),
    payload: {
      schema_version: 1,
      persona: agent,
      kind: 'urgent-unanswered',
      status: isOpen ? 'open' : 'cleared',
      reason: 'urgent-unanswered: …',
      urgent_unanswered: isOpen ? [...names] : ['river'],
    },
  }
}

t.test(
  'KS-91 log - an alarm about the account is said once however many are told, by the names it is about',
  async t => {
    const bench = new Bench(t)
    const told = (names: readonly string[], event?: 'alert'): Draft[] =>
      ['argus', 'loom'].map(agent => accountAlarm(agent, names, event))
    bench.core.commits = [
      told(['river'], 'alert'),
      told(['argus', 'river'], 'alert'),
      [accountAlarm('echo', ['argus', 'river'], 'alert')],
      told(['river']),
      told([]),
    ]
    await bench.start()
    t.match(
      bench.logged.map(({ level, code, message }) => [level, code, message]),
      [
        [
          'warn',
          'alert',
          'urgent-unanswered: river has unread urgent mail and has written no message since it came',
        ],
        [
          'warn',
          'alert',
          'urgent-unanswered: argus has unread urgent mail and has written no message since it came',
        ],
        ['info', 'alert_ended', 'urgent-unanswered: ended for argus'],
        ['info', 'alert_ended', 'urgent-unanswered: ended for river'],
      ],
    )
    t.equal(bench.logged.length, 4)
  },
)

t.test('KS-91 log - one that stood before this process is said when it ends, once', async t => {
  const bench = new Bench(t)
  bench.core.commits = [[accountAlarm('argus', []), accountAlarm('loom', [])]]
  await bench.start()
  t.match(bench.logged, [{ code: 'alert_ended', message: 'urgent-unanswered: ended for river' }])
  t.equal(bench.logged.length, 1)
})

t.test('KS-51 log - what keeps the server from being asked comes with what to do about it', async t => {
  const bench = new Bench(t)
  bench.core.said = [
    { level: 'warn', code: 'x', message: 'm', failure: 'unreachable: connection refused (ECONNREFUSED)' },
    { level: 'warn', code: 'y', message: 'm', failure: 'http 401' },
    { level: 'warn', code: 'z', message: 'm', failure: 'http 500' },
  ]
  await bench.start()
  t.match(bench.logged, [
    { code: 'x', hint: /^start Kijito at http:\/\/localhost:7474, .*--url/ },
    { code: 'y', hint: /--token-file/ },
    { code: 'z', hint: undefined },
  ])
})

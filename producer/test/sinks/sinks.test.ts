import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { MonitorEvent } from '@kim/observer-sdk'
import {
  type Delivery,
  Disk,
  type Draft,
  type Journal,
  Ledger,
  type LogEntry,
  type Sink,
  Sinks,
  type SinksParts,
} from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { message, TestStore } from '../kit/store.js'

/** So many times faster than the clock on the wall do these sinks wait. */
const SPEED = 200

/** A sink that keeps what it is given, and refuses what it is told to. */
class KeepingSink implements Sink {
  readonly name = 'keeping'
  readonly names: undefined = undefined
  readonly given: MonitorEvent[] = []
  /** Why an event is refused; undefined if it is not. */
  refuse: (event: MonitorEvent) => string | undefined = () => undefined
  readonly batchMax: number
  readonly #hasLanes: boolean

  constructor(batchMax = 10, hasLanes = true) {
    this.batchMax = batchMax
    this.#hasLanes = hasLanes
  }

  laneOf(persona: string): string {
    return this.#hasLanes ? persona : ''
  }

  async deliver(_lane: string, events: readonly MonitorEvent[]): Promise<Delivery> {
    await Promise.resolve()
    let taken = 0
    for (const event of events) {
      const failure = this.refuse(event)
      if (failure !== undefined) return { taken, failure }
      this.given.push(event)
      taken++
    }
    return { taken }
  }

  close(): void {}

  idsOf(persona: string): unknown[] {
    return this.given.filter(event => event['persona'] === persona).map(({ id }) => id)
  }
}

interface World {
  readonly store: TestStore
  readonly logged: LogEntry[]
  open(journal: Journal, sink: Sink, more?: Partial<SinksParts>): Sinks
}

function world(t: Test): World {
  const store = new TestStore(t)
  const logged: LogEntry[] = []
  const log = (entry: LogEntry): void => void logged.push(entry)
  const open = (journal: Journal, sink: Sink, more: Partial<SinksParts> = {}): Sinks => {
    const sinks = new Sinks({
      plans: [{ identity: 'keeping', make: () => sink }],
      around: {
        eventsDir: store.paths.events,
        facts: { projectId: () => journal.projectId, payloadOf: record => record.payload },
        contentChars: 10,
        durableSeq: () => (journal.failure === undefined ? journal.head.seq : undefined),
        clock: { wallMs: Date.now, monoMs: () => performance.now() * SPEED },
        timers: {
          after: (ms, run) => {
            const timer = setTimeout(run, ms / SPEED)
            return () => clearTimeout(timer)
          },
        },
        log,
      },
      ledgerDir: join(store.dir, '..', 'ledgers'),
      projectId: journal.projectId,
      disk: new Disk(store.fs.port, process.getuid?.(), {}, log),
      head: journal.head,
      heartbeatMs: undefined,
      watched: () => [],
      ...more,
    })
    sinks.start()
    return sinks
  }
  return { store, logged, open }
}

/** News of a persona. */
function news(persona: string, id: number): Draft {
  return message(
    id,
    { agent: persona, item_id: `${persona}/${id}`, event: 'new' },
    { persona, from: 'argus' },
  )
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setTimeout(resolve, 5))
}

const codes = (logged: readonly LogEntry[], code: string): number =>
  logged.filter(entry => entry.code === code).length

t.test('sinks - KS-73 one that never began takes the head, at once and for good', async t => {
  const { store, logged, open } = world(t)
  const journal = store.open()
  t.teardown(() => journal.close())
  journal.append([news('river', 1), message(2), news('river', 3)])
  const first = new KeepingSink()
  const before = open(journal, first)
  journal.append([news('river', 4)])
  await until(() => first.given.length === 1)
  await before.close()
  t.same(first.idsOf('river'), [4])
  t.match(
    logged.filter(({ code }) => code === 'sink_started'),
    [{ fields: { passed_over: 2 } }],
  )
  journal.append([news('river', 5)])
  const second = new KeepingSink()
  const after = open(journal, second)
  await until(() => second.given.length === 1)
  await after.close()
  t.same(second.idsOf('river'), [5], 'what came while nobody ran')
})

t.test('sinks - KS-72 what is in the way of one lane is in the way of no other', async t => {
  const { store, logged, open } = world(t)
  const journal = store.open()
  t.teardown(() => journal.close())
  const sink = new KeepingSink()
  let isBroken = true
  sink.refuse = event => (isBroken && event['persona'] === 'loom' && event['id'] === 2 ? 'broken' : undefined)
  const sinks = open(journal, sink)
  for (let id = 1; id <= 5; id++) journal.append([news('loom', id), news('river', id + 100)])
  await until(() => sink.idsOf('river').length === 5)
  t.same(sink.idsOf('loom'), [1])
  for (let id = 6; id <= 9; id++) journal.append([news('loom', id), news('river', id + 100)])
  await until(() => sink.idsOf('river').length === 9)
  isBroken = false
  await until(() => sink.idsOf('loom').length === 9)
  journal.append([news('loom', 10), news('river', 110)])
  await until(() => sink.idsOf('loom').length === 10 && sink.idsOf('river').length === 10)
  await sinks.close()
  t.same(sink.idsOf('loom'), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 'in order')
  t.same(
    sink.idsOf('river'),
    [101, 102, 103, 104, 105, 106, 107, 108, 109, 110],
    'and nobody else is told anything again',
  )
  t.same([codes(logged, 'sink_failing'), codes(logged, 'sink_working')], [1, 1], 'said once each')
})

t.test(
  'sinks - KS-73 a watermark is durable before the first poll, and as soon as anything was taken',
  async t => {
    const { store, open } = world(t)
    const journal = store.open()
    t.teardown(() => journal.close())
    journal.append([news('river', 1)])
    const disk = new Disk(store.fs.port, process.getuid?.(), {}, () => undefined)
    const ledger = new Ledger(join(store.dir, '..', 'ledgers'), journal.projectId, 'keeping', disk)
    const sink = new KeepingSink()
    const sinks = open(journal, sink)
    t.same(ledger.load()?.passed, journal.head, 'nothing was read yet')
    journal.append([news('river', 2)])
    await until(() => sink.given.length === 1)
    await until(() => ledger.load()?.held.some(([lane, { seq }]) => lane === 'river' && seq === 3) === true)
    t.pass('a process that is killed now tells it to nobody again')
    await sinks.close()
    t.same(ledger.load(), { passed: journal.head, held: [], names: [] })
  },
)

t.test('sinks - a blocked lane is where it was in the next life', async t => {
  const { store, open } = world(t)
  const journal = store.open()
  t.teardown(() => journal.close())
  const sink = new KeepingSink()
  sink.refuse = event => (event['persona'] === 'loom' ? 'broken' : undefined)
  const sinks = open(journal, sink)
  for (let id = 1; id <= 3; id++) journal.append([news('loom', id), news('river', id + 100)])
  await until(() => sink.idsOf('river').length === 3)
  await sinks.close()
  const next = new KeepingSink()
  const later = open(journal, next)
  await until(() => next.given.length === 3)
  await later.close()
  t.same([next.idsOf('loom'), next.idsOf('river')], [[1, 2, 3], []])
})

t.test('sinks - a store that was put back is told from where the two part', async t => {
  const { store, logged, open } = world(t)
  const copy = join(store.dir, '..', 'copy')
  let journal = store.open()
  const first = new KeepingSink()
  let sinks = open(journal, first)
  journal.append([news('river', 1)])
  await until(() => first.given.length === 1)
  cpSync(store.dir, copy, { recursive: true })
  for (let id = 2; id <= 6; id++) journal.append([news('river', id)])
  await until(() => first.given.length === 6)
  await sinks.close()
  journal.close()
  rmSync(store.dir, { recursive: true })
  cpSync(copy, store.dir, { recursive: true })
  journal = store.open()
  t.teardown(() => journal.close())
  for (let id = 2; id <= 9; id++) journal.append([news('river', id)])
  const second = new KeepingSink()
  sinks = open(journal, second)
  await until(() => second.idsOf('river').includes(9))
  await sinks.close()
  t.same(second.idsOf('river').slice(-8), [2, 3, 4, 5, 6, 7, 8, 9], 'nothing of it is taken for told')
  t.match(
    logged.filter(({ code }) => code === 'sink_rewound'),
    [{ message: /events from record 3 on are delivered, some perhaps again/ }],
  )
  t.equal(codes(logged, 'sink_gap'), 0, 'and nothing was missed')
})

t.test('sinks - a watermark that cannot be kept is said once, and kept when it can be', async t => {
  const { store, logged, open } = world(t)
  const journal = store.open()
  t.teardown(() => journal.close())
  const sink = new KeepingSink()
  store.fs.break('openSync', 'ledgers', 'EACCES')
  const sinks = open(journal, sink)
  journal.append([news('river', 1)])
  journal.append([news('river', 2)])
  await until(() => sink.given.length === 2)
  t.equal(codes(logged, 'sink_trouble'), 1, 'and the mail is told all the same')
  store.fs.heal()
  await until(() => codes(logged, 'sink_trouble_over') === 1)
  await sinks.close()
  const next = new KeepingSink()
  const later = open(journal, next)
  journal.append([news('river', 3)])
  await until(() => next.given.length > 0)
  await later.close()
  t.same(next.idsOf('river'), [3])
})

t.test('sinks - what a full disk left standing is told once it is part of the journal', async t => {
  const { store, open } = world(t)
  const journal = store.open()
  t.teardown(() => journal.close())
  const sink = new KeepingSink()
  const sinks = open(journal, sink)
  journal.append([news('river', 1)])
  await until(() => sink.given.length === 1)
  let isShort = true
  store.fs.fault = ({ name, path }) => {
    if (name !== 'writeSync' || !path.includes('seg-') || !isShort) return undefined
    isShort = false
    return 600
  }
  t.throws(() => journal.append([news('river', 2), news('river', 3)]), { code: 'store_full' })
  store.fs.heal()
  await new Promise(resolve => setTimeout(resolve, 100))
  t.same(sink.idsOf('river'), [1], 'nobody was told of it')
  journal.settle()
  const stands = store.lines().filter(({ event }) => event === 'new').length
  await until(() => sink.given.length === stands)
  t.ok(stands > 1)
  await sinks.close()
})

for (const hasLanes of [true, false]) {
  t.test(
    `sinks - KS-72 nothing is lost, whatever is refused and ended when, ${hasLanes ? 'by lanes' : 'in one'}`,
    async t => {
      const seed = Number(process.env['KIM_SEED'] ?? 20260610)
      t.comment(`KIM_SEED=${seed}`)
      let state = seed
      const random = (below: number): number => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0
        return (state >>> 8) % below
      }
      const { store, open } = world(t)
      const journal = store.open({ segmentBytes: 8192 })
      t.teardown(() => journal.close())
      const personas = ['argus', 'loom', 'river']
      const wanted = new Map<string, number[]>(personas.map(persona => [persona, []]))
      const told = new Map<string, unknown[]>(personas.map(persona => [persona, []]))
      let id = 0
      for (let life = 0; life < 12; life++) {
        const sink = new KeepingSink(1 + random(5), hasLanes)
        const broken = personas.filter(() => random(3) === 0)
        let refusals = 2 + random(6)
        sink.refuse = event =>
          broken.includes(String(event['persona'])) && refusals-- > 0 ? 'broken' : undefined
        const sinks = open(journal, sink)
        for (let commits = random(8); commits > 0; commits--) {
          const drafts = Array.from({ length: 1 + random(4) }, () => {
            const persona = personas[random(3)] ?? ''
            wanted.get(persona)?.push(++id)
            return news(persona, id)
          })
          journal.append(drafts)
          if (random(2) === 0) await new Promise(resolve => setTimeout(resolve, random(20)))
        }
        if (life === 11) {
          sink.refuse = () => undefined
          await until(() =>
            personas.every(persona =>
              [...(told.get(persona) ?? []), ...sink.idsOf(persona)].includes(wanted.get(persona)?.at(-1)),
            ),
          )
        }
        await sinks.close()
        for (const persona of personas) told.get(persona)?.push(...sink.idsOf(persona))
      }
      for (const persona of personas) {
        const ids = told.get(persona) ?? []
        t.same([...new Set(ids)], wanted.get(persona), `${persona}: all, and in order`)
        t.ok(ids.length > 0)
      }
    },
  )
}

t.test('sinks - what was passed is noted where nothing follows', async t => {
  const { store, open } = world(t)
  const journal = store.open()
  t.teardown(() => journal.close())
  const sink = new KeepingSink(10, false)
  const sinks = open(journal, sink)
  journal.append([news('river', 1), message(2), news('river', 3)])
  journal.append([message(4)])
  const { seq } = journal.head
  const ledger = new Ledger(
    join(store.dir, '..', 'ledgers'),
    journal.projectId,
    'keeping',
    new Disk(store.fs.port, process.getuid?.(), {}, () => undefined),
  )
  await until(() => ledger.load()?.passed.seq === seq)
  t.same(ledger.load()?.held, [], 'and no lane is behind, should it be killed now')
  await sinks.close()
})

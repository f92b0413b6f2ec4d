import { once } from 'node:events'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { MonitorEvent } from '@kim/monitor'
import {
  type Delivery,
  Disk,
  type Draft,
  ExecSink,
  type Journal,
  progressByInbox,
  type ServiceLogEntry,
  type Sink,
  Sinks,
  type SinksParts,
  Skips,
  WatermarkFile,
} from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { message, TestStore } from '../kit/store.js'

/** So many times faster than the clock on the wall do these sinks wait. */
const SPEED = 200

const FAST = {
  monoMs: () => performance.now() * SPEED,
  after: (ms: number, run: () => void) => {
    const timer = setTimeout(run, ms / SPEED)
    return () => clearTimeout(timer)
  },
}

/** A sink that keeps what it is given, and refuses what it is told to. */
class KeepingSink implements Sink {
  readonly name = 'keeping'
  readonly given: MonitorEvent[] = []
  /** Why an event is refused; undefined if it is not. */
  refuse: (event: MonitorEvent) => string | undefined = () => undefined
  readonly batchMax: number
  readonly areLanesSlow = false
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

/** A sink of commands that end as they are told to; `refuse` says why one fails. */
class Commands {
  readonly given: { readonly persona: string; readonly event: string; readonly id: string }[] = []
  readonly tried: string[] = []
  /** How many commands run now, and how many ran at once at most. */
  running = 0
  runningMax = 0
  refuse: (env: Readonly<Record<string, string>>) => string | undefined | Promise<string | undefined> = () =>
    undefined

  sink(logged: ServiceLogEntry[], maxAttempts?: number): Sink {
    return new ExecSink({ command: 'wake-me', env: {}, maxAttempts }, entry => void logged.push(entry), {
      ...FAST,
      run: async (_command, env, signal) => {
        const { KIJITOMON_EVENT: event = '', KIJITOMON_ID: id = '', KIJITOMON_PERSONA: persona = '' } = env
        this.tried.push(env['KIJITOMON_EVENT_ID'] ?? '')
        this.running++
        this.runningMax = Math.max(this.runningMax, this.running)
        const over = new AbortController()
        const ended = once(signal, 'abort', { signal: over.signal }).then(
          () => undefined,
          () => undefined,
        )
        const why = await Promise.race([Promise.resolve(this.refuse(env)), ended])
        over.abort()
        this.running--
        if (signal.aborted) return { kind: 'interrupted' }
        if (why !== undefined) return { kind: 'refused', why }
        this.given.push({ persona, event, id })
        return { kind: 'acknowledged' }
      },
    })
  }

  idsOf(persona: string): number[] {
    return this.given.flatMap(one => (one.persona === persona && one.id !== '' ? [Number(one.id)] : []))
  }
}

interface World {
  readonly store: TestStore
  readonly logged: ServiceLogEntry[]
  open(journal: Journal, sink: Sink, more?: Partial<SinksParts>): Sinks
}

function world(t: Test): World {
  const store = new TestStore(t)
  const logged: ServiceLogEntry[] = []
  const log = (entry: ServiceLogEntry): void => void logged.push(entry)
  const open = (journal: Journal, sink: Sink, more: Partial<SinksParts> = {}): Sinks => {
    const sinks = new Sinks({
      plans: [{ identity: 'keeping', make: () => sink }],
      around: {
        eventsDir: store.paths.events,
        facts: { projectId: () => journal.projectId, payloadOf: record => record.payload },
        contentChars: 10,
        durableSeq: () => (journal.failure === undefined ? journal.head.seq : undefined),
        clock: { wallMs: Date.now, monoMs: FAST.monoMs },
        timers: { after: FAST.after },
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

/** An event of river that is no mail. */
function of(event: string): Draft {
  const item = { item_type: 'alert', item_id: `river/${event}` }
  return message(0, { agent: 'river', ...item, action: 'update', event }, { persona: 'river', cursor: 0 })
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setTimeout(resolve, 5))
}

const codes = (logged: readonly ServiceLogEntry[], code: string): number =>
  logged.filter(entry => entry.code === code).length

t.test('sinks - KS-73 one that never began takes the head, at once and for good', async t => {
  const { store, logged, open } = world(t)
  const journal = store.open()
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
  t.same(second.idsOf('river'), [5], 'what came while no producer ran')
})

t.test('sinks - KS-72 what is in the way of one lane is in the way of no other', async t => {
  const { store, logged, open } = world(t)
  const journal = store.open()
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
    'and no other persona gets an event again',
  )
  t.same([codes(logged, 'sink_failing'), codes(logged, 'sink_working')], [1, 1], 'said once each')
})

t.test(
  'sinks - KS-73 a watermark is durable before the first poll, and as soon as anything was taken',
  async t => {
    const { store, open } = world(t)
    const journal = store.open()
    journal.append([news('river', 1)])
    const disk = new Disk(store.fs.port, process.getuid?.(), {}, () => undefined)
    const watermarkFile = new WatermarkFile(
      join(store.dir, '..', 'ledgers'),
      journal.projectId,
      'keeping',
      disk,
    )
    const sink = new KeepingSink()
    const sinks = open(journal, sink)
    t.same(watermarkFile.load()?.passed, journal.head, 'nothing was read yet')
    journal.append([news('river', 2)])
    await until(() => sink.given.length === 1)
    await until(() => watermarkFile.load()?.passed.seq === 3 && watermarkFile.load()?.held.length === 0)
    t.pass('a process that is killed now does not repeat it')
    await sinks.close()
    t.same(watermarkFile.load(), { passed: journal.head, held: [], names: [] })
  },
)

t.test('sinks - a blocked lane is where it was in the next life', async t => {
  const { store, open } = world(t)
  const journal = store.open()
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

t.test('sinks - a store that was restored is announced from where the two differ', async t => {
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
  const sink = new KeepingSink()
  store.fs.break('openSync', 'ledgers', 'EACCES')
  const sinks = open(journal, sink)
  journal.append([news('river', 1)])
  journal.append([news('river', 2)])
  await until(() => sink.given.length === 2)
  t.equal(codes(logged, 'sink_trouble'), 1, 'and the mail is announced all the same')
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

t.test('sinks - what a full disk left is announced once it is part of the journal', async t => {
  const { store, open } = world(t)
  const journal = store.open()
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
  t.same(sink.idsOf('river'), [1], 'it was not announced')
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

t.test('sinks - KS-72 a sign of life that a command refuses holds no mail', async t => {
  const { store, logged, open } = world(t)
  const journal = store.open()
  const commands = new Commands()
  commands.refuse = ({ KIJITOMON_EVENT }) => (KIJITOMON_EVENT === 'new' ? undefined : 'exited with 1')
  const sinks = open(journal, commands.sink(logged))
  journal.append([of('armed'), news('river', 1), of('recovered'), news('river', 2), of('armed')])
  await until(() => commands.tried.length === 5)
  await until(() => sinks.status()[0]?.behind === 0)
  t.same(commands.idsOf('river'), [1, 2])
  t.same(
    commands.tried.map(id => id.split(':')[1]),
    ['armed', 'new', 'recovered', 'new', 'armed'],
    'each once',
  )
  t.match(sinks.status(), [{ state: 'working', held: 0, skipped: { liveness: 2, diagnostic: 1 } }])
  await sinks.close()
  t.match(
    logged.filter(({ code }) => code === 'sink_skipped').map(({ level, fields }) => ({ level, ...fields })),
    [
      { level: 'warn', event: 'armed', tries: 1, skipped: 1 },
      { level: 'warn', event: 'recovered', tries: 1, skipped: 1 },
    ],
    'one line for each kind',
  )
  t.match(
    logged.find(({ code }) => code === 'sink_skipped')?.hint,
    /^the journal has the event\..* let it exit with 0; otherwise correct it: mail waits until it exits with 0, or /,
  )
  t.equal(codes(logged, 'sink_failing'), 0)
  const next = new Commands()
  const later = open(journal, next.sink(logged))
  journal.append([news('river', 3)])
  await until(() => next.given.length > 0)
  await later.close()
  t.same(next.idsOf('river'), [3], 'what was skipped does not come again')
})

t.test('sinks - KS-72 a limit of tries skips mail too, as an error each time', async t => {
  const { store, logged, open } = world(t)
  const journal = store.open()
  const commands = new Commands()
  commands.refuse = ({ KIJITOMON_ID }) => (KIJITOMON_ID === '3' ? undefined : 'exited with 1')
  const sinks = open(journal, commands.sink(logged, 3))
  journal.append([news('river', 1), news('river', 2), news('river', 3)])
  await until(() => commands.given.length === 1)
  await until(() => sinks.status()[0]?.behind === 0)
  t.same(
    commands.tried.map(id => id.split(':')[2]),
    ['1', '1', '1', '2', '2', '2', '3'],
  )
  t.match(sinks.status(), [{ state: 'working', held: 0, skipped: { mail: 2 } }])
  await sinks.close()
  t.match(
    logged.filter(({ code }) => code === 'sink_skipped'),
    [
      { level: 'error', persona: 'river', fields: { event_id: 'river:new:1', tries: 3, skipped: 1 } },
      { level: 'error', persona: 'river', fields: { event_id: 'river:new:2', tries: 3, skipped: 2 } },
    ],
  )
})

t.test('sinks - KS-72 KS-74 a command that fails or hangs for one inbox delays no other', async t => {
  const { store, logged, open } = world(t)
  const journal = store.open()
  const commands = new Commands()
  let isBroken = true
  let release: (why: string | undefined) => void = () => undefined
  const hanging = new Promise<string | undefined>(resolve => {
    release = resolve
  })
  commands.refuse = ({ KIJITOMON_PERSONA }) => {
    if (KIJITOMON_PERSONA === 'loom') return isBroken ? 'exited with 1' : undefined
    return KIJITOMON_PERSONA === 'argus' ? hanging : undefined
  }
  const sinks = open(journal, commands.sink(logged))
  const ids = Array.from({ length: 150 }, (_, index) => index + 1)
  for (const id of ids) {
    journal.append([news('argus', id), news('loom', id), news('river', id)])
    // More than a queue holds, and in many batches.
    if (id % 30 === 0) await new Promise(resolve => setTimeout(resolve, 20))
  }
  await until(() => commands.idsOf('river').length === 150)
  t.same(commands.idsOf('river'), ids)
  t.same([commands.idsOf('argus'), commands.idsOf('loom')], [[], []])
  const [{ state, lanes } = { state: 'off', lanes: [] }] = sinks.status()
  t.equal(state, 'held')
  t.match(
    lanes.filter(({ why }) => why !== null),
    [{ lane: 'loom', why: /the command exited with 1/ }],
    'one that is slow is not held',
  )
  isBroken = false
  await until(() => commands.idsOf('loom').length === 150)
  t.same(commands.idsOf('loom'), ids, 'in order, and once')
  release(undefined)
  await until(() => commands.idsOf('argus').length === 150)
  t.same(commands.idsOf('argus'), ids)
  await until(() => sinks.status()[0]?.behind === 0)
  t.match(sinks.status(), [{ state: 'working', held: 0, lanes: [] }])
  await sinks.close()
  t.same([codes(logged, 'sink_failing'), codes(logged, 'sink_working')], [1, 1])
})

t.test('sinks - KS-74 commands of many inboxes run at once, those of one inbox do not', async t => {
  const { store, logged, open } = world(t)
  const journal = store.open()
  const commands = new Commands()
  const running = new Map<string, number>()
  let together = 0
  commands.refuse = async ({ KIJITOMON_PERSONA: persona = '' }) => {
    const count = (running.get(persona) ?? 0) + 1
    running.set(persona, count)
    together = Math.max(together, count)
    await new Promise(resolve => setTimeout(resolve, 5))
    running.set(persona, count - 1)
    return undefined
  }
  const watched = Array.from({ length: 12 }, (_, n) => ({ persona: `p${n}`, cursor: 4 }))
  const sinks = open(journal, commands.sink(logged), { heartbeatMs: 1000, watched: () => watched })
  for (let id = 1; id <= 5; id++) journal.append(watched.map(({ persona }) => news(persona, id)))
  await until(() => commands.given.filter(({ event }) => event === 'new').length === 60)
  await until(() => commands.given.some(({ event }) => event === 'heartbeat'))
  await sinks.close()
  t.equal(commands.runningMax, 8)
  t.equal(together, 1)
  for (const { persona } of watched) t.same(commands.idsOf(persona), [1, 2, 3, 4, 5], persona)
})

t.test('sinks - KS-72 an inbox goes on from the one lane of an earlier version', async t => {
  const { store, logged, open } = world(t)
  const journal = store.open()
  for (let id = 1; id <= 6; id++) journal.append([news('loom', id), news('river', id)])
  const disk = new Disk(store.fs.port, process.getuid?.(), {}, () => undefined)
  const watermarkFile = new WatermarkFile(
    join(store.dir, '..', 'ledgers'),
    journal.projectId,
    'keeping',
    disk,
  )
  const { seq, writer } = journal.head
  watermarkFile.save({
    passed: { seq, writer },
    held: [['', { seq: seq - 5, writer }, 'exited with 1']],
    names: [],
  })
  const commands = new Commands()
  const plans = [
    { identity: 'keeping', adopt: progressByInbox, make: () => commands.sink(logged) },
  ] satisfies SinksParts['plans']
  const sinks = open(journal, commands.sink(logged), { plans })
  journal.append([news('loom', 7), news('river', 7)])
  await until(() => commands.given.length === 7)
  await sinks.close()
  t.same(commands.idsOf('loom'), [5, 6, 7], 'once, and before what is newer')
  t.same(commands.idsOf('river'), [4, 5, 6, 7])
  t.same(watermarkFile.load(), { passed: journal.head, held: [], names: [] })
})

t.test('sinks - KS-72 nothing is lost, whatever a command refuses and whenever it is ended', async t => {
  const { store, logged, open } = world(t)
  const journal = store.open({ segmentBytes: 8192 })
  const personas = ['loom', 'river']
  const told = new Map<string, number[]>(personas.map(persona => [persona, []]))
  const [commits, size, lives] = [5, 30, 3]
  let id = 0
  for (let life = 0; life < lives; life++) {
    const commands = new Commands()
    let refusals = 3 * life
    commands.refuse = async ({ KIJITOMON_PERSONA: persona }) => {
      await new Promise(resolve => setTimeout(resolve, persona === 'loom' ? 3 : 0))
      return persona === personas[life % 2] && refusals-- > 0 ? 'exited with 1' : undefined
    }
    const sinks = open(journal, commands.sink(logged))
    // A slow inbox misses some of it: more than its queue holds.
    for (let commit = 0; commit < commits; commit++, id += size) {
      journal.append(
        personas.flatMap(persona => Array.from({ length: size }, (_, n) => news(persona, id + n))),
      )
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    if (life === lives - 1)
      await until(() => personas.every(persona => commands.idsOf(persona).at(-1) === id - 1))
    else await until(() => commands.given.length > 20 * life)
    await sinks.close()
    for (const persona of personas) told.get(persona)?.push(...commands.idsOf(persona))
  }
  const all = Array.from({ length: id }, (_, index) => index)
  for (const persona of personas) {
    t.same([...new Set(told.get(persona))], all, `${persona}: all, and in order`)
  }
})

t.test('sinks - KS-72 a place that takes nothing refuses no event', async t => {
  const { store, logged, open } = world(t)
  const journal = store.open()
  const sink = new KeepingSink(10, false)
  let tries = 0
  sink.refuse = () => (++tries < 8 ? 'no space' : undefined)
  const sinks = open(journal, sink)
  journal.append([of('armed'), of('alert'), news('river', 1)])
  await until(() => sink.given.length === 3)
  await sinks.close()
  t.same(
    sink.given.map(({ event }) => event),
    ['armed', 'alert', 'new'],
    'all of them, in order',
  )
  t.equal(codes(logged, 'sink_skipped'), 0)
})

t.test('sinks - KS-87 what is skipped again is one line an hour, with the count', async t => {
  const logged: ServiceLogEntry[] = []
  let nowMs = 0
  const clock = { wallMs: () => nowMs, monoMs: () => nowMs }
  const skips = new Skips('keeping', clock, entry => void logged.push(entry))
  const beat = { event: 'heartbeat', wake_class: 'liveness' } as MonitorEvent
  for (let minute = 0; minute <= 120; minute++) {
    nowMs = minute * 60_000
    skips.add({ event: beat, lane: '', tries: 1, why: 'exited with 1' })
  }
  t.same(
    logged.map(({ fields }) => fields?.['skipped']),
    [1, 61, 121],
  )
})

t.test('sinks - KS-72 heartbeats that a command refuses keep no other heartbeat back', async t => {
  const { store, logged, open } = world(t)
  const journal = store.open()
  const commands = new Commands()
  commands.refuse = ({ KIJITOMON_PERSONA }) => (KIJITOMON_PERSONA === 'argus' ? 'exited with 1' : undefined)
  const watched = ['argus', 'river'].map(persona => ({ persona, cursor: 4 }))
  const sinks = open(journal, commands.sink(logged), { heartbeatMs: 1000, watched: () => watched })
  await until(() => commands.given.length >= 2)
  t.ok(commands.given.every(({ persona }) => persona === 'river'))
  t.match(sinks.status(), [{ state: 'working', skipped: { liveness: Number } }])
  await sinks.close()
})

t.test('sinks - what was passed is noted where nothing follows', async t => {
  const { store, open } = world(t)
  const journal = store.open()
  const sink = new KeepingSink(10, false)
  const sinks = open(journal, sink)
  journal.append([news('river', 1), message(2), news('river', 3)])
  journal.append([message(4)])
  const { seq } = journal.head
  const watermarkFile = new WatermarkFile(
    join(store.dir, '..', 'ledgers'),
    journal.projectId,
    'keeping',
    new Disk(store.fs.port, process.getuid?.(), {}, () => undefined),
  )
  await until(() => watermarkFile.load()?.passed.seq === seq)
  t.same(watermarkFile.load()?.held, [], 'and no lane is behind, should it be killed now')
  await sinks.close()
})

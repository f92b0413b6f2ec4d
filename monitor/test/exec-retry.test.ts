import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { type CommandRefusal, CommandRunner, deliveryRetryMs, type ExecOutcome } from '../dist/exec-retry.js'
import type { MonitorEvent } from '../dist/monitor-event.js'

const REFUSED: ExecOutcome = { kind: 'refused', why: 'exited with 1' }
const TAKEN: ExecOutcome = { kind: 'acknowledged' }
const never = new AbortController().signal

/** An event of a kind, of an inbox. */
function of(event: string, id: string = event): MonitorEvent {
  const wakes = event === 'new' ? 'mail' : event === 'alert' ? 'diagnostic' : 'liveness'
  return { event, event_id: id, wake_class: wakes } as unknown as MonitorEvent
}

/** A runner whose waits pass at once, and whose command ends as it is told to. */
class World {
  nowMs = 0
  readonly waits: number[] = []
  readonly tried: string[] = []
  readonly refusals: CommandRefusal[] = []
  readonly runner: CommandRunner
  /** How the next try ends. */
  outcome: (env: Readonly<Record<string, string>>) => ExecOutcome | Promise<ExecOutcome> = () => REFUSED
  /** Does a wait end by itself? */
  passes = true

  constructor(maxAttempts?: number) {
    this.runner = new CommandRunner(
      { command: 'wake-me', env: { PATH: '/bin', KIM_TOKEN: 'secret' }, maxAttempts },
      {
        monoMs: () => this.nowMs,
        after: (ms, run) => {
          this.waits.push(ms)
          if (this.passes) {
            setImmediate(() => {
              this.nowMs += ms
              run()
            })
          }
          return () => undefined
        },
        run: async (_command, env) => {
          this.tried.push(env['KIJITOMON_EVENT_ID'] ?? '')
          return await this.outcome(env)
        },
      },
    )
  }

  deliver(event: MonitorEvent, signal = new AbortController().signal): ReturnType<CommandRunner['deliver']> {
    return this.runner.deliver(event, { signal, onRefused: refusal => this.refusals.push(refusal) })
  }

  /** Refuses so many tries, and takes the next one. */
  refuse(times: number): void {
    this.outcome = () => (this.tried.length <= times ? REFUSED : TAKEN)
  }
}

t.test('command runner - KS-72 mail is tried until the command takes it', async t => {
  const world = new World()
  world.refuse(40)
  t.same(await world.deliver(of('new')), { kind: 'acknowledged' })
  t.equal(world.tried.length, 41)
  t.same(world.runner.skipped, {})
  t.equal(world.refusals[0]?.triesMax, Number.POSITIVE_INFINITY)
})

t.test('command runner - KS-72 other events have the tries of their class', async t => {
  for (const [event, tries, wakeClass] of [
    ['armed', 1, 'liveness'],
    ['heartbeat', 1, 'liveness'],
    ['alert', 5, 'diagnostic'],
  ] as const) {
    const world = new World()
    t.same(await world.deliver(of(event)), { kind: 'skipped', tries, why: 'exited with 1' }, event)
    t.equal(world.tried.length, tries)
    t.equal(world.refusals.length, tries - 1, 'the last refusal is the skip')
    await world.deliver(of(event))
    t.same(world.runner.skipped, { [wakeClass]: 2 }, 'counted')
  }
})

t.test('command runner - KS-72 a limit holds for mail too, and gives no event more tries', async t => {
  const three = new World(3)
  t.match(await three.deliver(of('new')), { kind: 'skipped', tries: 3 })
  t.same(three.runner.skipped, { mail: 1 })
  t.match(await three.deliver(of('armed')), { kind: 'skipped', tries: 1 })
  const nine = new World(9)
  t.match(await nine.deliver(of('alert')), { kind: 'skipped', tries: 5 })
  const last = new World(3)
  last.refuse(2)
  t.same(await last.deliver(of('new')), { kind: 'acknowledged' }, 'the last try counts')
  t.same(last.runner.skipped, {})
})

t.test('command runner - KS-87 CL-31 tries come after 1 s, doubling to 30 s', async t => {
  const world = new World()
  world.refuse(8)
  await world.deliver(of('new'))
  const seconds = [1, 2, 4, 8, 16, 30, 30, 30]
  t.same(
    world.waits.map(ms => ms / 1000),
    seconds,
  )
  t.same(
    world.refusals.map(({ tries, retryMs }) => [tries, retryMs / 1000]),
    seconds.map((wait, index) => [index + 1, wait]),
  )
  t.same(
    world.refusals.map(({ forMs }) => forMs / 1000),
    [0, 1, 3, 7, 15, 31, 61, 91],
  )
  t.equal(deliveryRetryMs(10_000), 30_000)
  await world.deliver(of('new', 'another'))
  t.equal(world.waits.length, 8, 'what one event cost, the next one does not')
})

t.test('command runner - KS-74 a command gets its event and no credential', async t => {
  const world = new World()
  let seen: Readonly<Record<string, string>> = {}
  world.outcome = env => {
    seen = env
    return TAKEN
  }
  await world.deliver(of('new', 'river:new:7'))
  t.same(seen, { PATH: '/bin', KIJITOMON_EVENT: 'new', KIJITOMON_EVENT_ID: 'river:new:7' })
})

t.test('command runner - KS-74 runs 8 commands at once, and the next one that became ready', async t => {
  const world = new World()
  const ends: (() => void)[] = []
  world.outcome = () => new Promise(resolve => ends.push(() => resolve(TAKEN)))
  const all = Array.from({ length: 10 }, (_, n) => world.deliver(of('new', `${n}`)))
  await turn()
  t.same(world.tried, ['0', '1', '2', '3', '4', '5', '6', '7'])
  ends[3]?.()
  await turn()
  t.equal(world.tried.at(-1), '8')
  t.equal(world.tried.length, 9)
  while ((await Promise.race([Promise.all(all), turn('waits')])) === 'waits') for (const end of ends) end()
  t.equal(world.tried.length, 10)
})

t.test('command runner - KS-74 an event that waits for its next try takes no place of others', async t => {
  const world = new World()
  world.passes = false
  world.outcome = env => (env['KIJITOMON_EVENT_ID'] === 'river' ? TAKEN : REFUSED)
  for (let n = 0; n < 20; n++) void world.deliver(of('new', `argus ${n}`))
  t.same(await world.deliver(of('new', 'river')), { kind: 'acknowledged' })
})

t.test('command runner - KS-72 an end leaves the event undelivered, wherever it comes', async t => {
  const interrupted = { kind: 'interrupted' }
  const ended = new AbortController()
  ended.abort()
  const first = new World()
  t.same(await first.deliver(of('new'), ended.signal), interrupted)
  t.same(first.tried, [], 'before the first try')

  const held = new World()
  held.passes = false
  const stop = new AbortController()
  const waiting = held.deliver(of('new'), stop.signal)
  await turn()
  stop.abort()
  t.same(await waiting, interrupted, 'between two tries')

  const busy = new World()
  let end: () => void = () => undefined
  busy.outcome = () =>
    new Promise(resolve => {
      end = () => resolve(TAKEN)
    })
  for (let n = 0; n < 8; n++) void busy.deliver(of('new', `${n}`))
  const late = new AbortController()
  const queued = busy.deliver(of('new', 'queued'), late.signal)
  await turn()
  late.abort()
  t.same(await queued, interrupted, 'while others run')
  end()
  await turn()
  t.notOk(busy.tried.includes('queued'))
  t.same(
    await Promise.race([busy.deliver(of('new', 'next')).then(() => 'delivered'), settled(busy, 'next')]),
    'tried',
    'and its place in the queue is free',
  )
  t.same(
    [first, held, busy].map(({ runner }) => runner.skipped),
    [{}, {}, {}],
  )
})

/** Resolves once the command ran for an event. */
async function settled(world: World, id: string): Promise<string> {
  while (!world.tried.includes(id)) await turn()
  return 'tried'
}

t.test('command runner - CL-65 a wait can end while a command has its time', async t => {
  const world = new World()
  const waiting = new AbortController()
  let end: (outcome: ExecOutcome) => void = () => undefined
  world.outcome = () =>
    new Promise(resolve => {
      end = resolve
    })
  const first = world.runner.deliver(of('new'), { signal: never, waiting: waiting.signal })
  await turn()
  waiting.abort()
  end(TAKEN)
  t.same(await first, { kind: 'acknowledged' })
  const second = world.runner.deliver(of('new'), { signal: never, waiting: waiting.signal })
  await turn()
  end(REFUSED)
  t.same(await second, { kind: 'interrupted' })
})

t.test('command runner - what hears of a refusal can end the delivery', async t => {
  const world = new World()
  const onRefused = (): never => {
    throw new TypeError('no more')
  }
  await t.rejects(world.runner.deliver(of('new'), { signal: never, onRefused }), { message: 'no more' })
  t.equal(world.tried.length, 1)
})

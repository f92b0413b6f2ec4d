import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { isSoak, Prng, seedsToRun } from '../../kit/index.js'
import { ProducerProcess, readRecords, SimulatorProcess, wrongWith } from '../../kit/kijito/index.js'

const PERSONAS = ['argus', 'loom', 'river']
/** How often the producer is killed in one history. */
const LIVES = 12
/** Far more than it takes to catch up. */
const PATIENCE_MS = 90_000

/** What servers and networks do now and then; each is over after a few requests. */
const FAULTS = [
  { status: 502 },
  { status: 200, text: 'restarting' },
  { wire: { kind: 'reset' } },
  { wire: { kind: 'reset-reused' } },
  { wire: { kind: 'short', missing: 7 } },
  { wire: { kind: 'broken-chunk' } },
  { omit: ['next_before_id'] },
  { distort: 'skip-rows' },
  { delay_ms: 200 },
]

/** Kills a producer again and again while mail comes in and the server has its moods; then lets it catch up. */
async function history(t: Test, seed: number): Promise<void> {
  const random = new Prng(seed)
  const home = t.testdir()
  const store = join(home, 'store')
  const simulator = new SimulatorProcess(['--dialect', 'hosted', '--persona', PERSONAS.join(',')])
  t.teardown(() => simulator.close())
  await simulator.tell({ do: 'set', settings: { pageRows: 4, rowOrder: 'shuffled' } })
  const url = await simulator.url
  const sent = new Set<string>()
  const send = async (): Promise<void> => {
    const to = random.pick(PERSONAS)
    const count = 1 + random.int(6)
    const ids = (await simulator.tell({ do: 'send', to, from: 'argus', content: 'hello', count })) as number[]
    for (const id of ids) sent.add(`${to}/${id}`)
  }
  const flags = ['--persona', 'argus', '--persona', 'loom', '--persona', 'river', '--max-replay', '100000']
  const pace = ['--poll-seconds', '1', '--wait', '5', '--segment-bytes', '16384', '--no-gc']
  const start = (): ProducerProcess => {
    const where = ['--url', url, '--allow-loopback', '--dialect', 'hosted', '--store', store]
    const producer = new ProducerProcess(home, ['run', ...where, ...flags, ...pace], { KIM_TOKEN: 'tok' })
    t.teardown(() => producer.stop())
    return producer
  }
  const isIn = (): Set<string | undefined> =>
    new Set(
      readRecords(store).flatMap(({ item_type, item_id }) => (item_type === 'message' ? [item_id] : [])),
    )

  // What stood before first contact may be older than any window; what comes after it must not be missed.
  const first = start()
  const hasMet = (): boolean =>
    readRecords(store).some(({ payload }) => payload?.['kind'] === 'registry_genesis')
  while (!hasMet() && first.code === undefined) await sleep(50)
  await first.stop()

  let begun = 0
  for (let life = 0; life < LIVES; life++) {
    const producer = start()
    await simulator.tell({
      do: 'rule',
      on: {},
      effect: random.pick(FAULTS),
      skip: random.int(6),
      times: random.int(4),
    })
    // Some are killed before they have come to anything.
    if (random.chance(0.8)) {
      while (producer.stderr === '' && producer.code === undefined) await sleep(10)
      begun++
    }
    const bursts = 1 + random.int(8)
    for (let burst = 0; burst < bursts; burst++) {
      await send()
      await sleep(random.int(200))
    }
    producer.signal('SIGKILL')
    await producer.ended
  }
  await simulator.tell({ do: 'drop_rules' })
  const last = start()
  const deadline = performance.now() + PATIENCE_MS
  const missing = (): string[] => [...sent].filter(id => !isIn().has(id))
  while (missing().length > 0 && performance.now() < deadline && last.code === undefined) await sleep(100)
  t.same(missing(), [], `all of ${sent.size} messages are in`)
  t.equal(await last.stop(), 0)
  const records = readRecords(store)
  t.same(wrongWith(records), [], 'each of them once, without a hole')
  const writers = new Set(records.map(({ writer }) => writer))
  t.ok(writers.size >= begun, `${writers.size} lives of ${LIVES + 2} wrote something`)
  const verify = new ProducerProcess(home, ['journal', 'verify', '--store', store, '--json'])
  t.equal(await verify.ended, 0, verify.stdout)
}

t.setTimeout(600_000)

for (const seed of seedsToRun(isSoak() ? 20 : 1)) {
  t.test(`lives - killed again and again, a producer loses nothing and repeats nothing (seed ${seed})`, t =>
    history(t, seed),
  )
}

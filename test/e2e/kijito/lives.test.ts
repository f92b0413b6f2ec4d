import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { isSoak, Prng, seedsToRun } from '../../kit/index.js'
import { readRecords, Trial } from '../../kit/kijito/index.js'

const PERSONAS = ['argus', 'loom', 'river']
/** How often the producer is killed in one history. */
const LIVES = 12
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
  const trial = await Trial.open(t, {
    personas: PERSONAS,
    settings: { pageRows: 4, rowOrder: 'shuffled' },
    flags: [
      ...['--personas', PERSONAS.join(','), '--max-replay', '100000'],
      ...['--poll-seconds', '1', '--wait', '5', '--segment-bytes', '16384'],
    ],
  })
  // What stood before first contact may be older than any window; what comes after it must not be missed.
  const first = trial.start()
  await trial.met()
  await first.stop()

  let begun = 0
  for (let life = 0; life < LIVES; life++) {
    const producer = trial.start()
    await trial.simulator.tell({
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
      await trial.send(random.pick(PERSONAS), 1 + random.int(6))
      await sleep(random.int(200))
    }
    producer.signal('SIGKILL')
    await producer.ended
  }
  await trial.simulator.tell({ do: 'drop_rules' })
  trial.start()
  await trial.judge()
  const writers = new Set(readRecords(trial.store).map(({ writer }) => writer))
  t.ok(writers.size >= begun, `${writers.size} lives of ${LIVES + 2} wrote something`)
}

t.setTimeout(600_000)

for (const seed of seedsToRun(isSoak() ? 20 : 1)) {
  t.test(`lives - killed again and again, a producer loses nothing and repeats nothing (seed ${seed})`, t =>
    history(t, seed),
  )
}

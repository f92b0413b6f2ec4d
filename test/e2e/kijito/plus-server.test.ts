// A server that goes away, and comes back.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { isSoak, Prng, seedsToRun } from '../../kit/index.js'
import { Trial } from '../../kit/kijito/index.js'

const PERSONAS = ['argus', 'loom', 'river', 'tern', 'wren']
/** How long nobody listens: a minute of it in the long form. */
const REFUSED_MS = isSoak() ? 60_000 : 5000
const RESTARTS = isSoak() ? 12 : 3
const FLAGS = ['--poll-seconds', '1', '--wait', '5', '--alert-after', '2', '--max-replay', '1000']

t.setTimeout(900_000)

t.test(
  'server - connections are refused for long, which is one outage of each inbox (KS-49, KS-56)',
  async t => {
    const trial = await Trial.open(t, { personas: PERSONAS, settings: { pageRows: 5 }, flags: FLAGS })
    const producer = trial.start()
    await trial.met()
    for (const persona of PERSONAS) await trial.send(persona, 3)
    await trial.caughtUp()
    await trial.simulator.tell({ do: 'refuse' })
    for (const persona of PERSONAS) await trial.send(persona, 12)
    await sleep(REFUSED_MS)
    await trial.until('all are down', () => trial.told('alert', 'unreachable') === PERSONAS.length)
    await trial.simulator.tell({ do: 'open' })
    await trial.caughtUp()
    await trial.until('all are up', () => trial.told('recovered', 'unreachable') === PERSONAS.length)
    t.equal(trial.told('alert', 'unreachable'), PERSONAS.length, 'each was told once')
    t.equal(producer.code, undefined, 'it never ended')
    await trial.judge()
  },
)

for (const seed of seedsToRun(isSoak() ? 5 : 1)) {
  t.test(`server - it is started again and again while mail flows (seed ${seed}; KS-7, KS-14)`, async t => {
    const random = new Prng(seed)
    const trial = await Trial.open(t, { personas: PERSONAS, settings: { pageRows: 5 }, flags: FLAGS })
    const producer = trial.start('--personas', PERSONAS.join(','))
    await trial.met()
    for (let restart = 0; restart < RESTARTS; restart++) {
      for (let n = 0; n < 10; n++) await trial.send(random.pick(PERSONAS), 1 + random.int(8))
      await sleep(random.int(300))
      await trial.simulator.tell({ do: 'cut' })
      for (let n = 0; n < 5; n++) await trial.send(random.pick(PERSONAS), 1 + random.int(8))
      await trial.restartServer(random.int(1500))
      for (let n = 0; n < 5; n++) await trial.send(random.pick(PERSONAS), 1 + random.int(8))
    }
    await trial.caughtUp()
    t.equal(producer.code, undefined, 'it never ended')
    await trial.judge()
  })
}

// A hive of two hundred, and a producer that is killed while all of them get mail.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { isSoak, Prng, seedsToRun } from '../../kit/index.js'
import { Trial } from '../../kit/kijito/index.js'

const PERSONAS = Array.from({ length: 200 }, (_, n) => `agent-${n}`)
const LIVES = isSoak() ? 10 : 2

t.setTimeout(1_200_000)

for (const seed of seedsToRun(isSoak() ? 5 : 1)) {
  t.test(`many - two hundred inboxes and a producer that is killed (seed ${seed}; KS-28, KS-45)`, async t => {
    const random = new Prng(seed)
    const trial = await Trial.open(t, {
      personas: PERSONAS,
      settings: { pageRows: 4 },
      flags: ['--poll-seconds', '2', '--wait', '5', '--max-replay', '1000', '--segment-bytes', '262144'],
    })
    for (const persona of PERSONAS) await trial.send(persona, random.int(7))
    trial.start()
    await trial.met()
    for (let life = 0; life < LIVES; life++) {
      for (const persona of PERSONAS) if (random.chance(0.7)) await trial.send(persona, 1 + random.int(9))
      await sleep(random.int(400))
      const last = trial.producers.at(-1)
      last?.signal('SIGKILL')
      await last?.ended
      for (let n = 0; n < 40; n++) await trial.send(random.pick(PERSONAS), 1 + random.int(9))
      trial.start()
    }
    for (const persona of PERSONAS) await trial.send(persona, 1 + random.int(9))
    await trial.judge()
  })
}

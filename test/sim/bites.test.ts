import type { Switches } from '@kim/producer/internal'
import t from 'tap'
import { Scratch } from '../kit/index.js'
import { runSeed } from './seeds.js'
import { Simulation } from './simulation.js'
import { Tally } from './tally.js'

/** The safeguards that can be left out, and how many seeds are enough to miss each; README.md has the table. */
const enough: Readonly<Record<keyof Switches, number>> = {
  skipFsync: 20,
  receiptBeforeSync: 400,
  skipDirectorySync: 200,
  skipLengthCheck: 200,
  skipKeyLookup: 20,
  skipLossPins: 400,
}

for (const [name, seeds] of Object.entries(enough)) {
  t.test(`simulation - it notices ${name}`, async t => {
    const scratch = new Scratch('kim-sim-')
    t.teardown(() => scratch.remove())
    let caught: string | undefined
    let seed = 0
    while (caught === undefined && seed < seeds) {
      seed++
      caught = await runSeed(seed, new Simulation(seed, { [name]: true }), scratch, new Tally())
    }
    t.ok(caught, `caught within ${seeds} seeds`)
    t.comment(`seed ${seed}: ${caught?.split('\n')[0]?.slice(0, 200)}`)
  })
}

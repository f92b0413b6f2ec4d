import t from 'tap'
import { Scratch } from '../../kit/index.js'
import { runSeed } from '../seeds.js'
import { Tally } from '../tally.js'
import { LatenessSimulation, type Spoilt } from './simulation.js'

/** What makes mail late, and how many seeds are enough to miss each; README.md. */
const faults: Readonly<Record<string, { readonly seeds: number; readonly spoilt: Spoilt }>> = {
  'equal counts are taken for equal messages': {
    seeds: 20,
    spoilt: { kind: { dialect: 'hosted', token: 'stuck' } },
  },
  'inboxes are polled three times as rarely': { seeds: 20, spoilt: { slowness: 3 } },
}

for (const [name, { seeds, spoilt }] of Object.entries(faults)) {
  t.test(`lateness - it notices that ${name}`, async t => {
    const scratch = new Scratch('kim-lateness-')
    t.teardown(() => scratch.remove())
    let caught: string | undefined
    let seed = 0
    while (caught === undefined && seed < seeds) {
      seed++
      caught = await runSeed(seed, new LatenessSimulation(seed, spoilt), scratch, new Tally())
    }
    t.ok(caught, `caught within ${seeds} seeds`)
    t.comment(`seed ${seed}: ${caught?.split('\n')[0]?.slice(0, 200)}`)
  })
}

import t from 'tap'
import { isSoak, Scratch, seedsToRun } from '../../kit/index.js'
import { Tally } from '../tally.js'
import { runHiveSeed } from './seeds.js'

/** After so many failing seeds the rest would say the same. */
const failuresMax = 3

// The seeds are many, and each is bounded by its own steps.
t.setTimeout(0)

t.test(
  'hive - every prefix is a true journal, each message once, whatever happens (KS-28, KS-29, KS-46 to KS-48)',
  { timeout: 0 },
  async t => {
    const seeds = seedsToRun(isSoak() ? 20_000 : 2000)
    const scratch = new Scratch('kim-hive-')
    t.teardown(() => scratch.remove())
    const tally = new Tally()
    let run = 0
    let failures = 0
    for (const seed of seeds) {
      const failure = await runHiveSeed(seed, scratch, tally)
      run++
      if (failure === undefined) continue
      const [what = '', ...story] = failure.split('\n')
      for (const line of story) t.comment(line)
      t.fail(what)
      if (++failures === failuresMax) break
    }
    t.comment(`seeds ${seeds[0]} to ${seeds[run - 1]}: ${run} run, ${failures} failed`)
    t.comment(tally.toString())
    t.equal(run - failures, seeds.length, 'every seed holds')
  },
)

import type { Test } from 'tap'
import { isSoak, Scratch, seedsToRun } from '../kit/index.js'
import { Tally } from './tally.js'
import { Violation } from './violation.js'

/** One seed of a simulation: it throws a Violation where something is not as it must be. */
interface Simulated {
  readonly tally: Tally
  /** What led to where it is. */
  readonly story: string
  run(scratch: Scratch): Promise<void>
}

/** After so many failing seeds the rest would say the same. */
const FAILURES_MAX = 3

/** Runs one seed; what went wrong and what led to it, or nothing. */
export async function runSeed(
  seed: number,
  simulation: Simulated,
  scratch: Scratch,
  tally: Tally,
): Promise<string | undefined> {
  try {
    await simulation.run(scratch)
    return undefined
  } catch (error) {
    if (!(error instanceof Violation)) throw error
    return `KIM_SEED=${seed}: ${error.message}\n${simulation.story}`
  } finally {
    tally.merge(simulation.tally)
  }
}

/**
 * Runs all seeds of a tier, or the one that was asked for, and says what they came to. A tier has the `found` seeds
 * too: each failed once.
 */
export async function runSeeds(
  t: Test,
  scratchPrefix: string,
  simulate: (seed: number) => Simulated,
  found: readonly number[] = [],
): Promise<void> {
  const tier = seedsToRun(isSoak() ? 20_000 : 2000)
  const seeds = tier.length === 1 ? tier : [...new Set([...found, ...tier])]
  const scratch = new Scratch(scratchPrefix)
  t.teardown(() => scratch.remove())
  const tally = new Tally()
  let run = 0
  let failures = 0
  for (const seed of seeds) {
    const failure = await runSeed(seed, simulate(seed), scratch, tally)
    run++
    if (failure === undefined) continue
    const [what = '', ...story] = failure.split('\n')
    for (const line of story) t.comment(line)
    t.fail(what)
    if (++failures === FAILURES_MAX) break
  }
  t.comment(`seeds ${tier[0]} to ${seeds[run - 1]}: ${run} run, ${failures} failed`)
  t.comment(tally.toString())
  t.equal(run - failures, seeds.length, 'every seed holds')
}

import type { Switches } from '@kim/producer/internal'
import type { Scratch } from '../kit/index.js'
import { Simulation } from './simulation.js'
import type { Tally } from './tally.js'
import { Violation } from './violation.js'

/** Runs one seed; what went wrong and what led to it, or nothing. */
export async function runSeed(
  seed: number,
  scratch: Scratch,
  tally: Tally,
  switches: Switches = {},
): Promise<string | undefined> {
  const simulation = new Simulation(seed, switches)
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

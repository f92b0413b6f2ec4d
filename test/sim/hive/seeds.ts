import type { Scratch } from '../../kit/index.js'
import type { Tally } from '../tally.js'
import { Violation } from '../violation.js'
import type { Sabotage } from './producer.js'
import { HiveSimulation } from './simulation.js'

/** Runs one seed; what went wrong and what led to it, or nothing. */
export async function runHiveSeed(
  seed: number,
  scratch: Scratch,
  tally: Tally,
  sabotage?: Sabotage,
): Promise<string | undefined> {
  const simulation = new HiveSimulation(seed, sabotage)
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

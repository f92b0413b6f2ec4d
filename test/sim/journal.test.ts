import t from 'tap'
import { runSeeds } from './seeds.js'
import { Simulation } from './simulation.js'

// The seeds are many, and each is bounded by its own steps.
t.setTimeout(0)

t.test(
  'simulation - every journal is what its callers were promised, whatever happened to it',
  { timeout: 0 },
  t => runSeeds(t, 'kim-sim-', seed => new Simulation(seed)),
)

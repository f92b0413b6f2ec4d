import t from 'tap'
import { runSeeds } from '../seeds.js'
import { HiveSimulation } from './simulation.js'

// The seeds are many, and each is bounded by its own steps.
t.setTimeout(0)

t.test(
  'hive - every prefix is a true journal, each message once, whatever happens (KS-28, KS-29, KS-46 to KS-48)',
  { timeout: 0 },
  t => runSeeds(t, 'kim-hive-', seed => new HiveSimulation(seed), [2609]),
)

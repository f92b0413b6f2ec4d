import t from 'tap'
import { runSeeds } from '../seeds.js'
import { LatenessSimulation } from './simulation.js'

// The seeds are many, and each is bounded by its own steps.
t.setTimeout(0)

t.test(
  'lateness - unread mail is in after two intervals, whenever other mail is read (KS-54, KS-55)',
  { timeout: 0 },
  t => runSeeds(t, 'kim-lateness-', seed => new LatenessSimulation(seed), [19_596]),
)

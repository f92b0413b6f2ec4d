export { homeOf } from '../home.js'
export { complete, counts, cut, directory, type Members, messageRow, page } from './pages.js'
export { passes } from './passes.js'
export { canPlant, type Plant, planted } from './plant.js'
export {
  closedDirectory,
  type FailingCalls,
  failingCalls,
  fillableDisk,
  portInstead,
  steppingClock,
} from './preloads.js'
export { ProducerProcess } from './producer-process.js'
export { readRecords, wrongWith } from './records.js'
export { ALL, FP, longPoll, NF, row } from './row.js'
export { Scene } from './scene.js'
export { SimulatorProcess } from './simulator-process.js'
export { Trial } from './trial.js'

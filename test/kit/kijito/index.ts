export { complete, counts, cut, directory, type Members, messageRow, page } from './pages.js'
export { canPlant, type Plant, planted } from './plant.js'
export { ALL, FP, longPoll, NF, row } from './row.js'
export type { Scene } from './scene.js'

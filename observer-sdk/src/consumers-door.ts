/** The named consumers of a user: their cursors, and who uses them now. */
export {
  consumerPath,
  listConsumers,
  readConsumer,
  removeConsumer,
  writeConsumer,
} from './cursors/consumer-file.js'
export { type ConsumerLock, lockConsumer } from './cursors/consumer-lock.js'
export { type Consumer, type ConsumersQuery, consumersOf } from './cursors/consumers.js'
export { storeCursor } from './cursors/store-cursor.js'

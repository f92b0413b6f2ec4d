/** The named consumers of a user: their cursors, and who uses them now. */
export {
  type Consumer,
  type ConsumerLock,
  type ConsumersQuery,
  consumerPath,
  consumersOf,
  listConsumers,
  lockConsumer,
  readConsumer,
  removeConsumer,
  storeCursor,
  writeConsumer,
} from './cursors/consumer-cursors.js'

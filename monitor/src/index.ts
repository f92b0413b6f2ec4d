/** The older monitor's event lines and environment, and the runner of commands. */

export { firstBytes, firstCodePoints, monitorLine } from './event-line.js'
export { cleanEnvironment, execEnvironment } from './exec-env.js'
export {
  type CommandDelivery,
  type CommandEffects,
  type CommandPlan,
  type CommandRefusal,
  CommandRunner,
  type DeliveryOptions,
  deliveryRetryMs,
  type ExecOptions,
  type ExecOutcome,
  runExec,
} from './exec-retry.js'
export {
  type ClockReadings,
  cursorIn,
  heartbeatEvent,
  idOf,
  type JournalFacts,
  type MonitorClocks,
  type MonitorEvent,
  type MonitorLook,
  monitorEvent,
  readHostClocks,
} from './monitor-event.js'

/** The older monitor's event lines and environment, and the runner of commands. */
export type { ClockReadings, MonitorClocks } from './clock-readings.js'
export {
  type CommandDelivery,
  type CommandEffects,
  type CommandPlan,
  type CommandRefusal,
  CommandRunner,
  type DeliveryOptions,
  deliveryRetryMs,
} from './command-runner.js'
export { firstCodePoints } from './cut-text.js'
export { monitorLine } from './event-line.js'
export { cleanEnvironment, execEnvironment } from './exec-env.js'
export { type ExecOptions, type ExecOutcome, runExec } from './exec-runner.js'
export { readHostClocks } from './host-clocks.js'
export { idOf, type JournalFacts } from './journal-facts.js'
export {
  cursorIn,
  heartbeatEvent,
  type MonitorEvent,
  type MonitorLook,
  monitorEvent,
} from './monitor-event.js'

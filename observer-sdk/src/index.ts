/** Follow a journal without touching it. Everything a host needs; nothing here can write below the store. */
export { type Cursor, safeJson, safeText } from '@kim/manifest'
export type { ClockReadings, MonitorClocks } from './announce/clock-readings.js'
export {
  type CommandDelivery,
  type CommandEffects,
  type CommandPlan,
  type CommandRefusal,
  CommandRunner,
  type DeliveryOptions,
  deliveryRetryMs,
} from './announce/command-runner.js'
export { monitorLine } from './announce/event-line.js'
export { execEnvironment } from './announce/exec-env.js'
export { type ExecOptions, type ExecOutcome, runExec } from './announce/exec-runner.js'
export { readHostClocks } from './announce/host-clocks.js'
export type { JournalFacts } from './announce/journal-facts.js'
export {
  heartbeatEvent,
  type MonitorEvent,
  type MonitorLook,
  monitorEvent,
} from './announce/monitor-event.js'
export { payloadOf } from './announce/payload-of.js'
export { type Consumer, type ConsumersQuery, consumersOf } from './cli/tail/board/consumers.js'
export type { CursorStore } from './cursors/cursor.js'
export { fileCursors } from './cursors/file.js'
export { type MementoLike, mementoCursors } from './cursors/memento.js'
export { memoryCursors } from './cursors/memory.js'
export type { Change } from './deliver/change.js'
export { type Observer, type ObserverOptions, type ObserverStatus, openObserver } from './observer.js'
export type { Board, BoardCount, BoardSeed, SectionSummary } from './project/board.js'
export type { Impact } from './project/impact.js'
export type { Evidence, PersonaView } from './project/persona.js'
export type { StateView } from './project/state.js'
export type { EntityView } from './project/view.js'
export { openTail, type RecordTail, type TailOptions } from './record-tail.js'
export { noJournalAt } from './store/no-journal.js'
export type { ReadFailure, ReadResult } from './store/read-result.js'
export type { Gap } from './tail/source.js'
export type {
  Finding,
  FindingExample,
  FindingKind,
  FindingLocation,
  Findings,
  FindingWeight,
} from './verify/findings.js'
export type { PassOptions, PassProgress } from './verify/pace.js'
export {
  type CheckpointStats,
  type JournalStats,
  type RecordCounts,
  type RecordStats,
  statsJournal,
} from './verify/stats.js'
export { statsText } from './verify/stats-text.js'
export type { JournalVerdict } from './verify/verdict.js'
export { verdictText } from './verify/verdict-text.js'
export { verifyJournal } from './verify/verify.js'

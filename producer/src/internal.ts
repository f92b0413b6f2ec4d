export { importedDrafts } from './cli/import/import.js'
export { askProducer } from './control/client.js'
export { type ControlOptions, type ControlServer, openControl } from './control/server.js'
export { type ControlVerbs, journalCare } from './control/verbs.js'
export { NameLists } from './core/alerts.js'
export {
  type Answered,
  type Ask,
  type Commit,
  type CommitOutcome,
  type Core,
  type CoreNote,
  type CoreOptions,
  type CoreStatus,
  createCore,
  type Now,
} from './core/core.js'
export { holesBelow, parseHoles, walkMember } from './core/holes.js'
export { classifyWalkPage } from './core/poll-pages.js'
export { phaseOf } from './core/schedule.js'
export {
  type HeldLock,
  kernelLock,
  type LockHolder,
  type LockRefused,
  type StoreLock,
} from './effects/store-lock.js'
export {
  type Clock,
  currentHost,
  type FileStat,
  type FileSystem,
  type Host,
  loopTimers,
  loopTurn,
  nodeFileSystem,
  openFlags,
  systemClock,
  systemRandom,
  type Timers,
  type Turn,
} from './effects/system.js'
export type { AppendOptions, Draft, Receipt } from './journal/draft.js'
export type { WriterState as StoredState } from './journal/entity-reader.js'
export { exportRecords } from './journal/export.js'
export { Disk } from './journal/file-ops.js'
export {
  type OpenJournal as Journal,
  openJournalWith as openJournal,
  retryDelayMs,
} from './journal/journal.js'
export { type RedactReport, type RedactTarget, redactStore } from './journal/redact.js'
export { repairStore } from './journal/repair.js'
export type {
  JournalOptions,
  LogEntry,
  ServiceLogEntry,
  Switches,
} from './journal/store.js'
export { Driver, type Ending } from './run/main-loop.js'
export { Producer, type ProducerParts, startedNote, stoppedNote } from './run/producer.js'
export { LogStream, pinoLog, type RunEntry, terminalLog, withoutEchoes } from './run/run-log.js'
export { type ProducerStatus, StatusFile } from './run/status.js'
export { EventFile, type EventFileParts } from './sinks/event-file.js'
export { ExecSink, progressByInbox } from './sinks/exec-sink.js'
export { FileNames, FileSink } from './sinks/file-sink.js'
export { type Lane, Lanes, type QueuedEvent, Skips } from './sinks/lanes.js'
export type { Delivery, Sink } from './sinks/sink.js'
export { Sinks, type SinksParts } from './sinks/sinks.js'
export { StdoutFile } from './sinks/stdout-sink.js'
export { type SinkState, WatermarkFile } from './sinks/watermark-file.js'
export { classOfAddress } from './source/address.js'
export {
  BodyBudget,
  type BudgetedBody,
  connectTo,
  type Resolve,
  type Target,
  transportFailure,
} from './source/http.js'
export {
  judgeCounts,
  judgeDirectory,
  openSource,
  parseBody,
  type SourceOptions,
  validatePage,
} from './source/kijito.js'
export {
  type Answer,
  type BodyResult,
  type CountsQuery,
  type Dialect,
  type DirectoryEntry,
  type Page,
  type PageQuery,
  type PersonaDirectory,
  type RequestFailure,
  type Row,
  remedyOf,
  type Source,
  type UnreadCounts,
} from './source/source.js'

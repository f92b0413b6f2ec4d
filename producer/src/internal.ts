export { importedDrafts } from './cli/import/imported-drafts.js'
export { type AskOptions, askProducer, type ControlReply, type ControlRequest } from './control/client.js'
export type { Principal } from './control/protocol.js'
export { type ControlOptions, type ControlServer, openControl } from './control/server.js'
export type { SocketPathOptions } from './control/socket-path.js'
export { type ControlVerbs, journalCare } from './control/verbs.js'
export { NameLists } from './core/alerts.js'
export type {
  Answered,
  Ask,
  Commit,
  CommitOutcome,
  Core,
  CoreNote,
  CoreOptions,
  CoreStatus,
  Now,
  PersonaStatus,
} from './core/core.js'
export { createCore } from './core/core.js'
export type { CoreJournal } from './core/core-state.js'
export { holesBelow, parseHoles, walkMember } from './core/holes.js'
export { phaseOf } from './core/inbox-schedule.js'
export { classifyWalkPage } from './core/poll-pages.js'
export { type Clock, loopTimers, loopTurn, systemClock, type Timers, type Turn } from './effects/clock.js'
export { type FileStat, type FileSystem, nodeFileSystem, openFlags } from './effects/file-system.js'
export { currentHost, type Host, type Random, systemRandom } from './effects/host.js'
export {
  type HeldLock,
  kernelLock,
  type LockHolder,
  type LockRefused,
  type StoreLock,
} from './effects/store-lock.js'
export type { AppendOptions, Draft, Receipt } from './journal/draft.js'
export type { StoredEntity, WriterState as StoredState } from './journal/entity-reader.js'
export { type ExportOptions, exportRecords } from './journal/export.js'
export { Disk } from './journal/file-ops.js'
export type { GcReport } from './journal/gc.js'
export {
  type OpenJournal as Journal,
  openJournalWith as openJournal,
  retryDelayMs,
} from './journal/journal.js'
export type { OpenHistory } from './journal/open.js'
export { type RedactOptions, type RedactReport, type RedactTarget, redactStore } from './journal/redact.js'
export { type RepairOptions, type RepairReport, repairStore } from './journal/repair.js'
export {
  canonicalSource,
  type JournalOptions,
  type Log,
  type LogEntry,
  type Switches,
} from './journal/store.js'
export { Driver, type DriverParts, type Ending } from './run/main-loop.js'
export { Producer, type ProducerParts, startedNote, stoppedNote } from './run/producer.js'
export { LogStream, pinoLog, type RunEntry, type RunLog, terminalLog, withoutEchoes } from './run/run-log.js'
export { type ProducerStatus, StatusFile } from './run/status.js'
export { EventFile, type EventFileParts } from './sinks/event-file.js'
export { ExecSink, progressByInbox } from './sinks/exec-sink.js'
export { FileNames, FileSink } from './sinks/file-sink.js'
export { Skips } from './sinks/lane-workers.js'
export { type Lane, Lanes, type QueuedEvent } from './sinks/lanes.js'
export type { Delivery, Sink, SinkEntry } from './sinks/sink.js'
export { SinkRunner, type SinkSurroundings } from './sinks/sink-runner.js'
export { type SinkPlan, Sinks, type SinksParts } from './sinks/sinks.js'
export { StdoutFile } from './sinks/stdout-sink.js'
export { type SinkState, WatermarkFile } from './sinks/watermark-file.js'
export { type AddressClass, classOfAddress } from './source/address.js'
export {
  type BodyResult,
  judgeCounts,
  judgeDirectory,
  parseBody,
  validatePage,
} from './source/answers.js'
export {
  type Address,
  BodyBudget,
  type BudgetedBody,
  type Connect,
  connectTo,
  type Resolve,
  type Target,
  transportFailure,
} from './source/http.js'
export { openSource, type SourceOptions } from './source/kijito.js'
export { remedyOf } from './source/remedy.js'
export type {
  Answer,
  Continuation,
  CountsQuery,
  Dialect,
  DirectoryEntry,
  Page,
  PageQuery,
  PersonaCount,
  PersonaDirectory,
  RequestFailure,
  Row,
  Source,
  UnreadCounts,
} from './source/source.js'

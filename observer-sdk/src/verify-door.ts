/** The checks of a journal, and what they find. */
export { ContinuityCheck, SeqSet } from './verify/continuity-check.js'
export {
  exitOf,
  type Finding,
  type FindingExample,
  type FindingKind,
  type FindingLocation,
  FindingLog,
  type Findings,
  type FindingWeight,
  findingWeights,
  type JournalVerdict,
  verdictText,
} from './verify/findings.js'
export { FramingCheck, noteKindOf, notePayload } from './verify/line-checks.js'
export { type PassOptions, PassPacer, type PassProgress, segmentBytes } from './verify/pace.js'
export {
  type CheckpointStats,
  type JournalStats,
  type RecordCounts,
  type RecordStats,
  statsJournal,
  statsText,
} from './verify/stats.js'
export { TxCheck } from './verify/tx-check.js'
export { namesProject, readMeta, verifyJournal } from './verify/verify.js'
export {
  entryOf,
  type JournalPoint,
  type LinePlace,
  type MalformedEntry,
  type RecordEntry,
  type SegmentWalker,
  walkSegments,
} from './verify/walk.js'

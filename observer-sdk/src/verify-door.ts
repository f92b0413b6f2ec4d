/** The checks of a journal, what they find, and passes over all of its lines and checkpoints. */
export { type JournalCopy, openJournalCopy } from './journal-copy.js'
export { type CheckpointDocument, checkpointEntities } from './tail/checkpoints.js'
export {
  type Finding,
  type FindingExample,
  type FindingKind,
  type FindingLocation,
  type Findings,
  type FindingWeight,
  findingLines,
  isRepairable,
  type JournalVerdict,
  verdictText,
} from './verify/findings.js'
export type { PassControl, PassOptions, PassProgress } from './verify/pace.js'
export { RangeCheck, type RangeVerdict } from './verify/range-check.js'
export {
  type CheckpointStats,
  type JournalStats,
  type RecordCounts,
  type RecordStats,
  statsJournal,
  statsText,
} from './verify/stats.js'
export { verifyJournal } from './verify/verify.js'
export type { JournalPoint, SegmentWalker } from './verify/walk.js'

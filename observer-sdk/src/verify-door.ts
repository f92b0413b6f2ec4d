/** The checks of a journal, and what they find. */
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
export type { PassOptions, PassProgress } from './verify/pace.js'
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

export type { Failure, Outcome } from './store/outcome.js'
export type { Example, Finding, FindingKind, Findings, FindingWeight, Place } from './verify/findings.js'
export type { PassOptions, Progress } from './verify/pace.js'
export {
  type CheckpointStats,
  type Counts,
  type JournalStats,
  type RecordStats,
  statsJournal,
} from './verify/stats.js'
export { statsText } from './verify/stats-text.js'
export type { Verdict } from './verify/verdict.js'
export { verdictText } from './verify/verdict-text.js'
export { verifyJournal } from './verify/verify.js'

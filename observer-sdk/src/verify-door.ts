/** The checks of a journal, and what they find. */
export { ContinuityCheck } from './verify/continuity-check.js'
export type { LinePlace, MalformedEntry, RecordEntry } from './verify/entry.js'
export type { FindingExample, FindingLocation, FindingWeight } from './verify/findings.js'
export {
  exitOf,
  type Finding,
  type FindingKind,
  FindingLog,
  type Findings,
  findingWeights,
} from './verify/findings.js'
export { FramingCheck } from './verify/framing-check.js'
export { namesProject, readMeta } from './verify/meta-file.js'
export { noteKindOf, notePayload } from './verify/note.js'
export type { PassProgress } from './verify/pace.js'
export { type PassOptions, PassPacer } from './verify/pace.js'
export { SeqSet } from './verify/seq-set.js'
export type { CheckpointStats, JournalStats, RecordCounts, RecordStats } from './verify/stats.js'
export { statsJournal } from './verify/stats.js'
export { statsText } from './verify/stats-text.js'
export { segmentBytes } from './verify/stored-bytes.js'
export { TxCheck } from './verify/tx-check.js'
export type { JournalVerdict } from './verify/verdict.js'
export { verdictText } from './verify/verdict-text.js'
export { verifyJournal } from './verify/verify.js'
export { entryOf } from './verify/walk.js'
export { type JournalPoint, type SegmentWalker, walkSegments } from './verify/walk-segments.js'

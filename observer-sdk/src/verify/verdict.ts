import type { Findings } from './findings.js'

/** What `verifyJournal` says of a journal directory. */
export interface JournalVerdict {
  /** 0 clean, 4 no journal there, 5 records are missing, 6 corrupt. */
  readonly exit: 0 | 4 | 5 | 6
  readonly findings: Findings
  /** The first seq that available history should hold: 1, or what stood before is not available. */
  readonly verified_from: number
  /** Valid records read. */
  readonly records: number
  /** Segments read. */
  readonly segments: number
  /** Bytes of segments read, unpacked. */
  readonly bytes: number
  /** The highest seq among valid records. */
  readonly head_seq: number
  readonly project_id: string | null
  /** Projection digest of the live state; absent where there is no journal. */
  readonly digest?: string
  /** Where no journal stands: what does, or what may have been meant. */
  readonly hint?: string
}

/** The verdict on a directory that is not there. */
export const noJournal: JournalVerdict = {
  exit: 4,
  findings: {},
  verified_from: 1,
  records: 0,
  segments: 0,
  bytes: 0,
  head_seq: 0,
  project_id: null,
}

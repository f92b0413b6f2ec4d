import type { RecordLine } from '../record-line.js'
import type { ReportedGap } from './reporter.js'

/** What came, in file order. */
export interface FeedBatch {
  /** Stands before the entries. */
  readonly gap: ReportedGap | undefined
  readonly entries: readonly RecordLine[]
  /** Where reading stands after it: also past what had no effect and is not among the entries. */
  readonly reached: { readonly seq: number; readonly writer: string | null }
}

/** The newest record there was when a feed was opened: what comes after it is given out by the feed. */
interface FeedHead {
  readonly seq: number
  readonly writer: string | null
  /** Head of the newest verified checkpoint; 0 if there is none. */
  readonly checkpointSeq: number
}

/** Records after a cursor, at the pace at which they are asked for. */
export interface Feed {
  /** Whose journal it is; undefined while there is none. */
  readonly projectId: string | undefined
  /** False while there is no journal. */
  readonly exists: boolean
  /** True where something of the journal is there and cannot be read. */
  readonly isUnreadable: boolean
  /** When it was opened. */
  readonly head: FeedHead
  /** True once everything that stood there was given out, and a call waits for more. */
  readonly isDrained: boolean
  /** Resolves with what comes next, undefined once it is closed. One call at a time. */
  next(): Promise<FeedBatch | undefined>
  /** The cursor that a persona's record has now. */
  cursorOf(persona: string): number | undefined
  /** The personas that have a record now. */
  personas(): readonly string[]
  close(): Promise<void>
}

/** Where a feed begins. */
export type FeedStart =
  /** After what stands there. */
  | { readonly kind: 'head' }
  /** After a record of the journal with this id; in any other journal, at the first record. */
  | {
      readonly kind: 'after'
      readonly projectId: string | undefined
      readonly seq: number
      readonly writer: string | null
    }

import { invariant } from './errors.js'

/** What the end of the newest segment holds: the features of table T in `spec/recovery.md`. */
export interface TailFeatures {
  /** The terminated lines: no valid record, at least one, or an end inside a transaction that is sound so far. */
  readonly lines: 'barren' | 'records' | 'open_run'
  /** What follows the last `\n`, judged as if one followed it. */
  readonly fragment: 'none' | 'blank' | 'record' | 'future' | 'malformed'
}

/** The label of a row of table T. */
export type TailLabel = 'T1' | 'T2' | 'T3' | 'T4' | 'T5' | 'T6' | 'T7' | 'T8' | 'T9'

/** What a writer does about a tail (RC-9). */
export type TailAction =
  /** Writes the `\n` that the last line lacks, and makes it durable. */
  | 'end_line'
  /** Reads the ended line, which is a record, and looks at the table again. */
  | 'adopt'
  /** Reads the ended line, which is no record, and owes the note that names it. */
  | 'adjudicate'
  /** Owes the note that names the transaction that the lines end in. */
  | 'abandon'
  /** Owes the first record of the segment. */
  | 'begin'

/** A row applies to the features that both its cells hold. */
export interface TailRow {
  readonly label: TailLabel
  readonly lines: TailFeatures['lines']
  readonly fragments: readonly TailFeatures['fragment'][]
  /** What the writer does, in this order. */
  readonly actions: readonly TailAction[]
}

/** A line that is ended can never become a record. */
const torn = ['blank', 'future', 'malformed'] as const

/** Table T. What a reader does in each row is in `spec/recovery.md`. */
export const TAIL_ROWS: readonly TailRow[] = [
  { label: 'T1', lines: 'records', fragments: ['none'], actions: [] },
  { label: 'T2', lines: 'records', fragments: ['record'], actions: ['end_line', 'adopt'] },
  { label: 'T3', lines: 'records', fragments: torn, actions: ['end_line', 'adjudicate'] },
  { label: 'T4', lines: 'open_run', fragments: ['none'], actions: ['abandon'] },
  { label: 'T5', lines: 'open_run', fragments: ['record'], actions: ['end_line', 'adopt'] },
  { label: 'T6', lines: 'open_run', fragments: torn, actions: ['end_line', 'abandon', 'adjudicate'] },
  { label: 'T7', lines: 'barren', fragments: ['none'], actions: ['begin'] },
  { label: 'T8', lines: 'barren', fragments: ['record'], actions: ['end_line', 'adopt'] },
  { label: 'T9', lines: 'barren', fragments: torn, actions: ['end_line', 'adjudicate', 'begin'] },
]

/** The one row that applies. */
export function classifyTail({ lines, fragment }: TailFeatures): TailRow {
  const row = TAIL_ROWS.find(each => each.lines === lines && each.fragments.includes(fragment))
  invariant(row !== undefined, 'every combination of tail features has a row')
  return row
}

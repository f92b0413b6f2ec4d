import { invariant } from './invariant.js'

/** What the end of the newest segment holds: the features of table T in `spec/recovery.md`. */
export interface TailFeatures {
  /** The terminated lines: no valid record, at least one, or an end inside a transaction that is sound so far. */
  readonly lines: 'barren' | 'records' | 'open_run'
  /** What stands after the last `\n`, judged as if one followed it. */
  readonly fragment: 'none' | 'blank' | 'record' | 'future' | 'malformed'
}

/** The label of a row of table T. */
export type TailLabel = 'T1' | 'T2' | 'T3' | 'T4' | 'T5' | 'T6' | 'T7' | 'T8' | 'T9'

/** A row applies to the features that both its cells hold. */
export interface TailRow {
  readonly label: TailLabel
  readonly lines: TailFeatures['lines']
  readonly fragments: readonly TailFeatures['fragment'][]
}

/** What is ended and adjudicated: it can never become a record. */
const torn = ['blank', 'future', 'malformed'] as const

/** Table T; what writer and reader do in each row stands in `spec/recovery.md`. */
export const TAIL_ROWS: readonly TailRow[] = [
  { label: 'T1', lines: 'records', fragments: ['none'] },
  { label: 'T2', lines: 'records', fragments: ['record'] },
  { label: 'T3', lines: 'records', fragments: torn },
  { label: 'T4', lines: 'open_run', fragments: ['none'] },
  { label: 'T5', lines: 'open_run', fragments: ['record'] },
  { label: 'T6', lines: 'open_run', fragments: torn },
  { label: 'T7', lines: 'barren', fragments: ['none'] },
  { label: 'T8', lines: 'barren', fragments: ['record'] },
  { label: 'T9', lines: 'barren', fragments: torn },
]

/** The label of the one row that applies. */
export function classifyTail({ lines, fragment }: TailFeatures): TailLabel {
  const row = TAIL_ROWS.find(each => each.lines === lines && each.fragments.includes(fragment))
  invariant(row !== undefined, 'every combination of tail features has a row')
  return row.label
}

import { invariant } from './invariant.js'

/** What a look at the end of the newest segment finds. */
export interface TailFeatures {
  /** The segment file, compared with the last look; at the first look it is `same`. */
  readonly segment: 'absent' | 'same' | 'shorter' | 'replaced'
  /** Whether a valid record stands on a terminated line of it. */
  readonly records: 'none' | 'some'
  /** What stands after the last `\n`: nothing, what would be a valid record if it ended there, or other bytes. */
  readonly end: 'whole' | 'torn_record' | 'torn_other'
  /** Whether the terminated lines end inside a transaction. */
  readonly tx: 'closed' | 'open'
}

/** The name of a row. */
export type TailLabel =
  | 'absent'
  | 'shrunk'
  | 'replaced'
  | 'unfinished_roll'
  | 'unfinished_roll_record'
  | 'unfinished_roll_torn'
  | 'impossible'
  | 'clean'
  | 'tx_open'
  | 'torn_record'
  | 'torn_other'
  | 'torn_other_in_tx'

/** One row of the table of tails in `spec/recovery.md`. */
export interface TailRow {
  readonly label: TailLabel
  /** A feature that is not named may be anything. */
  readonly when: Partial<TailFeatures>
  readonly writer: string
  readonly reader: string
}

/** Every row. Every combination of features meets exactly one of them. */
export const TAIL_ROWS: readonly TailRow[] = [
  {
    label: 'absent',
    when: { segment: 'absent' },
    writer: 'create the segment; its first record is the genesis note',
    reader: 'the journal is empty; wait',
  },
  {
    label: 'shrunk',
    when: { segment: 'shorter' },
    writer: 'end the process: another hand was here',
    reader: 'count it and derive the state anew',
  },
  {
    label: 'replaced',
    when: { segment: 'replaced' },
    writer: 'end the process: another hand was here',
    reader: 'count it and derive the state anew',
  },
  {
    label: 'unfinished_roll',
    when: { segment: 'same', records: 'none', end: 'whole', tx: 'closed' },
    writer: 'finish the roll: the first valid record is the seal (in the first segment, the genesis note)',
    reader: 'nothing to apply; wait',
  },
  {
    label: 'unfinished_roll_record',
    when: { segment: 'same', records: 'none', end: 'torn_record', tx: 'closed' },
    writer: 'end the line; it is a record; look again',
    reader: 'wait for the end of the line',
  },
  {
    label: 'unfinished_roll_torn',
    when: { segment: 'same', records: 'none', end: 'torn_other', tx: 'closed' },
    writer: 'end the line, finish the roll, then adjudicate the line',
    reader: 'wait for the end of the line; once ended it is malformed',
  },
  {
    label: 'impossible',
    when: { segment: 'same', records: 'none', tx: 'open' },
    writer: 'cannot be: the records of a transaction are records',
    reader: 'cannot be: the records of a transaction are records',
  },
  {
    label: 'clean',
    when: { segment: 'same', records: 'some', end: 'whole', tx: 'closed' },
    writer: 'append',
    reader: 'everything applies',
  },
  {
    label: 'tx_open',
    when: { segment: 'same', records: 'some', end: 'whole', tx: 'open' },
    writer: 'note that the transaction is abandoned, then append',
    reader: 'hold the transaction back and wait',
  },
  {
    label: 'torn_record',
    when: { segment: 'same', records: 'some', end: 'torn_record' },
    writer: 'end the line; it is a record; look again',
    reader: 'wait for the end of the line',
  },
  {
    label: 'torn_other',
    when: { segment: 'same', records: 'some', end: 'torn_other', tx: 'closed' },
    writer: 'end the line and adjudicate it, then append',
    reader: 'wait for the end of the line; once ended it is malformed',
  },
  {
    label: 'torn_other_in_tx',
    when: { segment: 'same', records: 'some', end: 'torn_other', tx: 'open' },
    writer: 'end the line, adjudicate it, note that the transaction is abandoned, then append',
    reader: 'hold the transaction back and wait; once the line is ended the transaction has no effect',
  },
]

/** The rows that features meet: one, which {@link classifyTail} names. */
export function matchingTailRows(features: TailFeatures): TailLabel[] {
  const names = ['segment', 'records', 'end', 'tx'] as const
  const meets = ({ when }: TailRow): boolean =>
    names.every(name => when[name] === undefined || when[name] === features[name])
  return TAIL_ROWS.filter(meets).map(row => row.label)
}

/** The label of the one row that features meet. */
export function classifyTail(features: TailFeatures): TailLabel {
  const [label] = matchingTailRows(features)
  invariant(label !== undefined, 'every combination of tail features meets a row')
  return label
}

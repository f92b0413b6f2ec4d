/** How far somebody has come in the journal: a record's number, and who wrote it. */
export interface Place {
  readonly seq: number
  /** Null where nobody knows; then it is not compared. */
  readonly writer: string | null
}

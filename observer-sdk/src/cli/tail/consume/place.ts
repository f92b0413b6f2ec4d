/** How far a consumer has come in one journal. */
export interface Place {
  readonly projectId: string
  /** The highest seq among the records passed; 0 before the first. */
  readonly seq: number
  /** The writer of the record with that seq; null when unknown, and then not compared. */
  readonly writer: string | null
  /** Head of the newest verified checkpoint when the place was taken; 0 if there was none. */
  readonly checkpointSeq: number
}

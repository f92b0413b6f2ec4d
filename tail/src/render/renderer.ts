import type { JournalFacts, RecordLine } from '../record-line.js'

/** How one record looks in one output mode: a line without its `\n`, or undefined if the mode does not show it. */
export type Renderer = (entry: RecordLine) => string | Uint8Array | undefined

/** What the modes for people share. */
export interface Look {
  readonly facts: JournalFacts
  readonly nowMs: () => number
  readonly utc: boolean
  readonly colour: boolean
  /** Show which persona a line belongs to. */
  readonly prefix: boolean
  /** Code points of a body that are shown; undefined for all of them. */
  readonly bodyChars: number | undefined
  /** Columns of the terminal; undefined when the output is no terminal. */
  readonly columns: number | undefined
}

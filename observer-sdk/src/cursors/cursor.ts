/** How far a consumer has come, and where that is kept: in the consumer's own storage, never in the store. */
import { KimError } from '@kim/manifest'

/** The highest seq among the records handed over, and who wrote it. A watermark: byte positions are never stored. */
export interface Cursor {
  readonly seq: number
  /** Head of the newest verified checkpoint when the cursor was made; 0 if there was none. */
  readonly checkpoint_seq: number
  /** Writer of the record with that seq; `null` when unknown, and then not compared. */
  readonly writer: string | null
}

/** Storage of one client. Both calls may answer at once or with a promise. */
export interface CursorStore {
  /** The cursor of this project, `undefined` if the client has none. Anything else than a cursor is refused. */
  load(projectId: string): unknown
  save(projectId: string, cursor: Cursor): unknown
  /** Directory the cursors are written to, so that an observer can refuse one inside the store it observes. */
  readonly directory?: string
}

/**
 * A stored value as a cursor. Nothing stored is no cursor; something that is not a cursor is an error,
 * because starting without one would silently pass over everything that was not yet handed over.
 */
export function parseCursor(value: unknown): Cursor | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'object' && !Array.isArray(value)) {
    const { seq, checkpoint_seq = 0, writer = null } = value as Record<string, unknown>
    if (isCount(seq) && isCount(checkpoint_seq) && (writer === null || typeof writer === 'string')) {
      return { seq, checkpoint_seq, writer }
    }
  }
  throw new KimError('cursor_invalid', 'the stored cursor is not valid; it was left as it is')
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

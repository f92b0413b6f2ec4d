import type { Cursor } from '@kim/manifest'

/** Storage of one client. Both calls may answer at once or with a promise. */
export interface CursorStore {
  /** The cursor of this project, `undefined` if the client has none. Anything else than a cursor is refused. */
  load(projectId: string): unknown
  save(projectId: string, cursor: Cursor): unknown
  /** Directory the cursors are written to, so that an observer can refuse one inside the store it observes. */
  readonly directory?: string
}

import { cursorKey } from '@kim/manifest'
import type { CursorStore } from './cursor.js'

/** The part of VS Code's `Memento` that is used; `workspaceState` fits, and so does any key-value store. */
export interface MementoLike {
  get(key: string): unknown
  update(key: string, value: unknown): PromiseLike<void>
}

/**
 * Cursors in a host's key-value storage.
 *
 * @example
 * const cursors = mementoCursors(context.workspaceState)
 */
export function mementoCursors(memento: MementoLike): CursorStore {
  return {
    load: projectId => memento.get(cursorKey(projectId)),
    save: (projectId, cursor) => memento.update(cursorKey(projectId), cursor),
  }
}

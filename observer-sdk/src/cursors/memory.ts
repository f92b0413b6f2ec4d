import type { Cursor } from '@kim/manifest'
import type { CursorStore } from './cursor.js'

/**
 * Cursors that live as long as the object: for hosts that only show the present, and for tests.
 *
 * @example
 * const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
 */
export function memoryCursors(): CursorStore {
  const cursors = new Map<string, Cursor>()
  return {
    load: projectId => cursors.get(projectId),
    save: (projectId, cursor) => {
      cursors.set(projectId, cursor)
    },
  }
}

/** What a host says when it begins to follow, checked before anything is opened. */
import { dirname } from 'node:path'
import { KimError } from '@kim/manifest'
import type { CursorStore } from './cursors/cursor.js'
import { isAtOrBelow, realPathOf } from './store/real-path.js'

/** Refuses what types would have refused, of a host that has none, and cursors that would be a write into the store. */
export function checkOptions({
  cursors,
  eventsDir,
}: {
  readonly cursors: CursorStore
  readonly eventsDir: string
}): void {
  if (typeof eventsDir !== 'string' || eventsDir === '')
    throw new KimError('usage', 'eventsDir must be the path of a journal: <store>/events')
  if (typeof cursors?.load !== 'function' || typeof cursors.save !== 'function')
    throw new KimError(
      'usage',
      'cursors must be a cursor store: memoryCursors(), fileCursors(directory) or mementoCursors(memento)',
    )
  refuseInside(cursors, eventsDir)
}

/** A cursor inside the store would be a write into it. */
function refuseInside({ directory }: CursorStore, eventsDir: string): void {
  if (directory === undefined) return
  if (!isAtOrBelow(dirname(realPathOf(eventsDir)), realPathOf(directory))) return
  throw new KimError('usage', `cursors cannot be kept in ${directory}: it is inside the observed store`)
}

import { join } from 'node:path'
import { segmentName } from '@kim/manifest'
import { ActiveSegment } from './active-segment.js'
import type { Appender } from './append.js'
import { type Boundary, takeBoundary } from './boundary.js'
import { isNoSpace, syncFailed } from './failure.js'
import { sealNote, sealOf } from './seal.js'
import type { JournalState } from './state.js'
import type { Store } from './store.js'

/**
 * Seals the segment and goes on in a new one, whose first record says what was sealed. Until that record stands
 * it is owed, and nothing else is appended.
 */
export function roll(store: Store, appender: Appender, state: JournalState, projectId: string): Boundary {
  const { paths, switches } = store
  const boundary = appender.guard(() => {
    const old = appender.segment
    // What is sealed must be what this process knows of it.
    old.fence(switches.skipLengthCheck !== true)
    old.sync()
    const sealed = sealOf(old)
    const number = appender.nextSeq
    const fresh = create(store, number, join(paths.events, segmentName(number)))
    appender.enter(fresh, [sealNote(sealed, projectId)])
    return takeBoundary(state, old.number, sealed)
  })
  return boundary
}

/**
 * Makes the new segment. Where its file stands and yet something failed, this process must not go on in the old
 * one, whatever it was: a segment with a higher number is the newest, so a new process has to finish the roll.
 */
function create({ disk, paths }: Store, number: number, path: string): ActiveSegment {
  let fresh: ActiveSegment | undefined
  try {
    fresh = new ActiveSegment(disk, number, path, true)
    disk.syncDirectory(paths.events)
    return fresh
  } catch (error) {
    fresh?.close()
    if (!isNoSpace(error) || disk.look(path) === undefined) throw error
    throw syncFailed(`${path} was created, but its name may not be durable`, error)
  }
}

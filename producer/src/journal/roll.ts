import { join } from 'node:path'
import { segmentName } from '@kim/manifest'
import { ActiveSegment } from './active-segment.js'
import type { Appender } from './append.js'
import { type Boundary, takeBoundary } from './boundary.js'
import { sealNote, sealOf } from './seal.js'
import type { JournalState } from './state.js'
import type { Store } from './store.js'

/**
 * Seals the segment and goes on in a new one, whose first record says what was sealed. Until that record stands
 * it is owed, and nothing else is appended.
 */
export function roll(store: Store, appender: Appender, state: JournalState, projectId: string): Boundary {
  const { disk, paths, clock, switches } = store
  const boundary = appender.guard(() => {
    const old = appender.segment
    // What is sealed must be what this process knows of it.
    old.fence(switches.skipLengthCheck !== true)
    old.sync()
    const sealed = sealOf(old)
    const number = appender.nextSeq
    const fresh = new ActiveSegment(disk, number, join(paths.events, segmentName(number)), true)
    disk.syncDirectory(paths.events)
    appender.enter(fresh, [sealNote(sealed, projectId)])
    return takeBoundary(state, old.number, sealed, clock.wallMs())
  })
  return boundary
}

import type { StoreLocation } from '@kim/cli-kit'
import { memoryCursors, type Observer, openObserver } from '@kim/observer-sdk'
import { noStore } from '../missing.js'
import { RecordLog } from '../read/record-log.js'

/** Derives the state of a journal once, and lets go of it. */
export async function withObserver<T>(location: StoreLocation, use: (observer: Observer) => T): Promise<T> {
  const { eventsDir } = location
  // An observer waits for what it cannot read; a command that answers once says so instead.
  if (RecordLog.open(eventsDir) === undefined) throw noStore(location)
  const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
  try {
    return use(observer)
  } finally {
    await observer.close()
  }
}

import type { Clock } from '../effects/clock.js'
import type { Host } from '../effects/host.js'
import type { HeldLock, StoreLock } from '../effects/store-lock.js'
import { failure, fenced, toFailure } from './failure.js'
import type { Store } from './store.js'

/** Takes the store's lock for the life of this process, or says who has it. */
export function lockStore(lock: StoreLock, path: string, store: string, host: Host, clock: Clock): HeldLock {
  const started = new Date(clock.wallMs()).toISOString()
  let answer: ReturnType<StoreLock['acquire']>
  try {
    answer = lock.acquire(path, { pid: host.pid, start_key: host.startKey, started })
  } catch (error) {
    throw toFailure(error, `lock ${path}`)
  }
  if (answer.held) return answer
  const { holder } = answer
  const who =
    holder === undefined ? 'another process' : `process ${holder.pid}, which started ${holder.started},`
  throw failure(
    'store_held',
    `${who} holds the store ${store}`,
    'nothing was changed; stop that producer (kim-producer shutdown, with the same --store), or give this one another store: --store DIR',
  )
}

/** Throws unless the lock is held still: a path that cannot be looked at is a fault of the disk, not a lost lock. */
export function requireLock(lock: HeldLock, { paths }: Store): void {
  let isIntact: boolean
  try {
    isIntact = lock.intact()
  } catch (error) {
    throw toFailure(error, `look at the lock file ${paths.lock}`)
  }
  if (!isIntact) throw fenced('the lock file of the store was removed or replaced')
}

/** Gives the store's lock up. */
export function letGo(lock: HeldLock, { paths }: Store): void {
  try {
    lock.release()
  } catch (error) {
    throw toFailure(error, `let go of ${paths.lock}`)
  }
}

import type { Clock } from '../effects/clock.js'
import type { Host } from '../effects/host.js'
import type { HeldLock, StoreLock } from '../effects/store-lock.js'
import { failure, toFailure } from './failure.js'

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

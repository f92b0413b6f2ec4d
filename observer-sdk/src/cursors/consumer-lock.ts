import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { KimError, limits } from '@kim/manifest'
import { makeDirectory } from './make-directory.js'

/** A consumer's name, held by this process. */
export interface ConsumerLock {
  release(): Promise<void>
}

/** How a name is taken. */
export interface LockOptions {
  /** Called once, when the name turns out to be held and is waited for. */
  readonly onWait: () => void
  /** Called when another process took the name over, which it may after this one was suspended. */
  readonly onLost: () => void
  readonly signal: AbortSignal
}

/** Between tries. */
const RETRY_MS = 200
/** How far ahead of the clock a holder may have dated its last touch: it finds out how fine file times are that way. */
const TOUCH_AHEAD_MS = 1_100

/**
 * Takes a consumer's name for this process. A dead holder's lock becomes free within the stale time of its last
 * touch, so a holder that outlives that is alive: then `consumer_held`.
 */
export async function lockConsumer(path: string, options: LockOptions): Promise<ConsumerLock> {
  const { lock } = await import('proper-lockfile')
  makeDirectory(dirname(path))
  const stale = limits.consumerLockStaleMsMax
  const until = performance.now() + stale + TOUCH_AHEAD_MS + RETRY_MS
  for (let tries = 0; ; tries++) {
    try {
      const release = await lock(path, { stale, realpath: false, onCompromised: options.onLost })
      // Already lost, or its directory is gone: either way nothing of ours is left to take away.
      return { release: () => release().catch(() => {}) }
    } catch (error) {
      if (!isHeld(error)) throw error
    }
    if (tries === 0) options.onWait()
    if (performance.now() >= until)
      throw new KimError('consumer_held', `another process uses ${nameOf(path)}`)
    await sleep(RETRY_MS, undefined, { signal: options.signal })
  }
}

function nameOf(path: string): string {
  return `the consumer "${path.slice(dirname(path).length + 1).replace(/\.json(\.ack)?$/, '')}"`
}

function isHeld(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ELOCKED'
}

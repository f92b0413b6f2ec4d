/**
 * Says "look now" and nothing else. Rings are coalesced into one look per turn of the event loop; a
 * slow timer looks in any case, so that a lost notification costs seconds, never a record. The first ring of a turn
 * is answered with a glimpse besides, before the look and never instead of it.
 */
import { openDoorbell } from './doorbell.js'
import { FAST_MS, notifies, SLOW_MS } from './pace.js'

/** What a look found, told to the watch so that it can judge itself. */
export interface Sighting {
  /** Identity of the directory looked at; `undefined` when there is none. */
  readonly identity: string | undefined
  /** True when the look found something new. */
  readonly grown: boolean
}

/** Whoever sees; all of it synchronous, and none of it throws. */
export interface Eyes {
  /** Looks at everything there is to see. */
  look(): Sighting
  /** Takes what lies in plain view, as fast as can be, and says whether there was anything; a look follows. */
  glimpse?(): boolean
}

/** An armed watch. */
export interface Watch {
  /** Asks for a look without waiting for a notification. */
  ring(): void
  /** Leaves no handle and no timer; `look` is not called any more. */
  close(): void
}

/** Intervals, replaceable by tests. */
export interface Pace {
  readonly slowMs?: number
  readonly fastMs?: number
  /** How long what shows only inside a subdirectory is left alone. */
  readonly innerMs?: number
}

/** Most glimpses before a look is taken. */
const GLIMPSES = 16

/** Looks in a later turn, and then whenever the directory may have changed. */
export function openWatch(directory: string, eyes: Eyes, pace: Pace = {}): Watch {
  const slowMs = pace.slowMs ?? SLOW_MS
  const fastMs = pace.fastMs ?? FAST_MS
  let identity: string | undefined
  let notified = false
  let heard = 0
  /** How much had been heard when the timer, not the bell, found something new. */
  let foundAt: number | undefined
  let deaf = false
  let due: NodeJS.Immediate | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const bell = openDoorbell(directory, why => {
    if (why === 'heard') {
      heard += 1
      deaf = false
      if (due === undefined && glimpse()) return
    }
    ring()
  })

  function ring(): void {
    if (closed) return
    due ??= setImmediate(() => {
      due = undefined
      settle(eyes.look())
    })
  }

  /** While a burst lasts, one glimpse follows another, so that none of it waits behind a look. */
  function glimpse(left = GLIMPSES): boolean {
    if (closed || left === 0 || eyes.glimpse?.() !== true || closed) return false
    due = setImmediate(() => {
      due = undefined
      if (!glimpse(left - 1)) ring()
    })
    return true
  }

  function tick(): void {
    timer = undefined
    // A change the timer found and no ring has followed until now: this watch will never say anything.
    const nowDeaf = foundAt === heard
    const sighting = eyes.look()
    foundAt = sighting.grown ? heard : undefined
    if (nowDeaf && !deaf) bell.renew()
    deaf = nowDeaf || deaf
    settle(sighting)
  }

  function settle(sighting: Sighting): void {
    if (closed) return
    if (sighting.identity !== identity) {
      identity = sighting.identity
      notified = identity !== undefined && notifies(directory)
      deaf = false
      bell.aim(identity)
      // A slow wait that was begun for another directory is not sat out for this one, or for none.
      clearTimeout(timer)
      timer = undefined
    }
    timer ??= setTimeout(tick, notified && bell.works && !deaf ? slowMs : fastMs)
  }

  ring()
  return {
    ring,
    close() {
      closed = true
      bell.close()
      clearImmediate(due)
      clearTimeout(timer)
    },
  }
}

/**
 * Says "look now" and nothing else. Rings are coalesced into one look per turn of the event loop; a
 * slow timer looks in any case, so that a lost notification costs seconds, never a record. Where a read-ahead is enough to
 * see what came, it is taken at once, and one look for all that came with it follows soon.
 */
import { openDoorbell } from './doorbell.js'
import { FAST_MS, notifies, SLOW_MS } from './pace.js'

/** What a look found, told to the watch so that it can judge itself. */
export interface ScanResult {
  /** Identity of the directory looked at; `undefined` when there is none. */
  readonly identity: string | undefined
  /** True when the look found something new. */
  readonly grown: boolean
}

/** Whoever sees; all of it synchronous, and none of it throws. */
export interface DirectoryScanner {
  /** Looks at everything there is to see. */
  scan(): ScanResult
  /** Takes what lies in plain view, as fast as can be; a look follows. */
  readAhead?(): ReadAheadResult
}

/** What a read-ahead came to; `blind` if only a look can tell. */
export type ReadAheadResult = 'took' | 'nothing' | 'blind'

/** An armed watch. */
export interface Watch {
  /** Asks for a look without waiting for a notification. */
  ring(): void
  /** Leaves no handle and no timer; `look` is not called any more. */
  close(): void
}

/** Intervals, replaceable by tests. */
export interface WatchIntervals {
  readonly slowMs?: number
  readonly fastMs?: number
  /** How long what shows only inside a subdirectory is left alone. */
  readonly innerMs?: number
}

/** How soon a look follows a read-ahead. Looking takes longer than reading ahead, and what a burst brings waits behind it. */
const SOON_MS = 2

/** Looks in a later turn, and then whenever the directory may have changed. */
export function openWatch(
  directory: string,
  scanner: DirectoryScanner,
  intervals: WatchIntervals = {},
): Watch {
  const slowMs = intervals.slowMs ?? SLOW_MS
  const fastMs = intervals.fastMs ?? FAST_MS
  let identity: string | undefined
  let notified = false
  let heard = 0
  /** How much had been heard when the timer, not the bell, found something new. */
  let foundAt: number | undefined
  let deaf = false
  let due: NodeJS.Immediate | undefined
  /** Calls off the look that is to follow a read-ahead. */
  let callOff: (() => void) | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const bell = openDoorbell(directory, why => {
    if (why === 'heard') {
      heard += 1
      deaf = false
      if (due === undefined && hasReadAhead()) return
    }
    ring()
  })

  function ring(): void {
    if (closed) return
    due ??= setImmediate(look)
  }

  function look(): void {
    clearImmediate(due)
    due = undefined
    callOff?.()
    callOff = undefined
    settle(scanner.scan())
  }

  /** Begun in a turn of its own: what was read ahead is on its way to somebody who waits. What is returned calls it off. */
  function lookSoon(): () => void {
    let timeout: NodeJS.Timeout | undefined
    const begun = setImmediate(() => {
      timeout = setTimeout(look, SOON_MS)
    })
    return () => {
      clearImmediate(begun)
      clearTimeout(timeout)
    }
  }

  /** Whether nothing more has to be looked at now. */
  function hasReadAhead(): boolean {
    if (closed) return true
    const ahead = scanner.readAhead?.() ?? 'blind'
    if (ahead === 'blind' || (ahead === 'nothing' && callOff === undefined)) return false
    if (!closed) callOff ??= lookSoon()
    return true
  }

  function tick(): void {
    timer = undefined
    // A change the timer found and no ring has followed until now: this watch will never say anything.
    const nowDeaf = foundAt === heard
    const result = scanner.scan()
    foundAt = result.grown ? heard : undefined
    if (nowDeaf && !deaf) bell.renew()
    deaf = nowDeaf || deaf
    settle(result)
  }

  function settle(result: ScanResult): void {
    if (closed) return
    if (result.identity !== identity) {
      identity = result.identity
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
      callOff?.()
      clearTimeout(timer)
    },
  }
}

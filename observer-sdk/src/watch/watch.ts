/**
 * Decides when a directory is looked at. Reports of the system are coalesced into one look per turn of the event loop. A
 * slow timer looks in any case, so that a lost notification costs seconds, never a record. Where a read-ahead is enough
 * to see what came, it is taken at once, and one look for all that came with it follows soon.
 */
import { existsSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { notifies, type OnReport, openPlainWatch, SharedWatch } from './shared-watch.js'

/** Between looks that nothing asked for, where the system's notifications can be trusted. */
const SLOW_MS = 10_000
/** Between such looks where they cannot: other systems, network file systems, a watch that proved deaf. */
const FAST_MS = 1_000
/** How soon a look follows a read-ahead. Looking takes longer than reading ahead, and what a burst brings waits behind it. */
const SOON_MS = 2

/** What a look found, from which the watch judges itself. */
export interface ScanResult {
  /** Identity of the directory looked at; `undefined` when there is none. */
  readonly identity: string | undefined
  /** True when the look found something new. */
  readonly grown: boolean
}

/** What looks; all of it synchronous, and none of it throws. */
export interface DirectoryScanner {
  /** Looks at everything there is to see. */
  scan(): ScanResult
  /** Takes what is in plain view, as fast as can be; a look follows. `blind` if only a look can tell. */
  readAhead(): 'took' | 'nothing' | 'blind'
}

/** Intervals, replaceable by tests. */
export interface WatchIntervals {
  readonly slowMs?: number
  readonly fastMs?: number
  /** How long what shows only inside a subdirectory is left alone. */
  readonly innerMs?: number
}

/** Looks in a later turn, and then whenever the directory may have changed, until it is closed. */
export function openWatch(
  directory: string,
  scanner: DirectoryScanner,
  { slowMs = SLOW_MS, fastMs = FAST_MS }: WatchIntervals = {},
): { close(): void } {
  let identity: string | undefined
  let notified = false
  let heard = 0
  /** How much had been heard when the timer, not the system, found something new. */
  let foundAt: number | undefined
  let deaf = false
  let due: NodeJS.Immediate | undefined
  /** Calls off the look that is to follow a read-ahead. */
  let callOff: (() => void) | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false
  /** While there is no such directory: a watch of the nearest one above it. */
  let awaited: { readonly path: string; close(): void } | undefined
  const onMade = { heard: lookNext, armed: () => {}, broken: () => {} }

  const onReport: OnReport = why => {
    if (why === 'heard') {
      heard += 1
      deaf = false
      if (due === undefined && hasReadAhead()) return
    }
    lookNext()
  }
  const watch = SharedWatch.join(directory, onReport)

  function lookNext(): void {
    if (!closed) due ??= setImmediate(look)
  }

  function look(): void {
    clearImmediate(due)
    due = undefined
    callOff?.()
    callOff = undefined
    settle(scanner.scan())
  }

  /** Begins in a turn of its own: what was read ahead is on its way to a consumer that waits. What is returned calls it off. */
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
    const ahead = scanner.readAhead()
    if (ahead === 'blind' || (ahead === 'nothing' && callOff === undefined)) return false
    if (!closed) callOff ??= lookSoon()
    return true
  }

  function tick(): void {
    timer = undefined
    // A change the timer found and no report has followed until now: this watch will never say anything.
    const nowDeaf = foundAt === heard
    const result = scanner.scan()
    foundAt = result.grown ? heard : undefined
    if (nowDeaf && !deaf) watch.renew()
    deaf = nowDeaf || deaf
    settle(result)
  }

  function settle(result: ScanResult): void {
    if (closed) return
    if (result.identity !== identity) {
      identity = result.identity
      notified = identity !== undefined && notifies(directory)
      deaf = false
      watch.aim(identity)
      // A slow wait that was begun for another directory is not sat out for this one, or for none.
      clearTimeout(timer)
      timer = undefined
    }
    const above = identity === undefined ? nearestAbove(directory) : undefined
    if (above !== awaited?.path) {
      awaited?.close()
      awaited = above === undefined ? undefined : { path: above, ...openPlainWatch(above, onMade, 'rename') }
      // What was made before the watch was there reported nothing.
      lookNext()
    }
    timer ??= setTimeout(tick, awaited !== undefined || (notified && watch.works && !deaf) ? slowMs : fastMs)
  }

  lookNext()
  return {
    close() {
      closed = true
      watch.leave(onReport)
      awaited?.close()
      clearImmediate(due)
      callOff?.()
      clearTimeout(timer)
    },
  }
}

/** The nearest directory above a path that exists. */
function nearestAbove(path: string): string {
  const above = dirname(resolve(path))
  return existsSync(above) || above === path ? above : nearestAbove(above)
}

/** Time as the producer reads it: clocks, timers, and the turn of the event loop. */
import * as os from 'node:os'
import type { Timers } from '@kim/manifest'

export type { Timers } from '@kim/manifest'

/** Time as the writer reads it. Nothing in the journal is ordered by it. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  wallMs(): number
  /** Milliseconds of the machine's monotonic clock. */
  monoMs(): number
  /** Milliseconds since the machine booted, sleep included; undefined where the platform cannot say. */
  bootMs?(): number | undefined
}

function monoMs(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + Math.floor(nanoseconds / 1e6)
}

/** How far two clocks may drift apart before one is read again: what the boot clock is exact to, in ms. */
const BOOT_STEP_MS = 10

/** What has to be added to the monotonic clock to have the time since boot, and when that was so. */
let boot: { readonly wallLessMono: number; readonly bootLessMono: number } | undefined

/**
 * Reading it means opening a file, which is a good part of what a commit of one record costs. It goes as the
 * monotonic clock does but for sleep, and sleep shows as a step of the wall clock: then it is read again.
 */
function bootMs(): number {
  const mono = monoMs()
  const wallLessMono = Date.now() - mono
  if (boot === undefined || Math.abs(wallLessMono - boot.wallLessMono) >= BOOT_STEP_MS) {
    boot = { wallLessMono, bootLessMono: Math.round(os.uptime() * 1000) - mono }
  }
  return Math.max(0, mono + boot.bootLessMono)
}

/** The machine's clocks. */
export const systemClock: Clock = { wallMs: () => Date.now(), monoMs, bootMs }

/** The longest that the platform's own timer can wait; a longer one would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

/** The event loop's timers. */
export const loopTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, Math.min(Math.max(ms, 1), TIMER_MS_MAX))
    return () => clearTimeout(timer)
  },
}

/** The end of the current turn of the event loop: what callers asked for within one turn shares one sync. */
export interface Turn {
  /** Calls `run` once, after every callback that is due in this turn. */
  soon(run: () => void): void
}

/** The event loop's own turn. */
export const loopTurn: Turn = { soon: run => void setImmediate(run) }

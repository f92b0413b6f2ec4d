import * as os from 'node:os'

/** Time as the writer reads it. Nothing in the journal is ordered by it. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  wallMs(): number
  /** Milliseconds of the machine's monotonic clock. */
  monoMs(): number
  /** Milliseconds since the machine booted, sleep included; undefined where the platform cannot say. */
  bootMs?(): number | undefined
}

/** The machine's clocks. */
export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monoMs: () => {
    const [seconds, nanoseconds] = process.hrtime()
    return seconds * 1000 + Math.floor(nanoseconds / 1e6)
  },
  bootMs: () => Math.round(os.uptime() * 1000),
}

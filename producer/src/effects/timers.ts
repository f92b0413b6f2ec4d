/** The one-shot timers that a service waits with. */
export interface Timers {
  /** Calls `run` once after that many milliseconds; what comes back takes it away again. */
  after(ms: number, run: () => void): () => void
}

/** The longest that the platform's own timer can wait; a longer one would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

/** The event loop's timers. */
export const loopTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, Math.min(Math.max(ms, 1), TIMER_MS_MAX))
    return () => clearTimeout(timer)
  },
}

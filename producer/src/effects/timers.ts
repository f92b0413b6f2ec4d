import type { Timers } from '@kim/manifest'

export type { Timers } from '@kim/manifest'

/** The longest that the platform's own timer can wait; a longer one would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

/** The event loop's timers. */
export const loopTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, Math.min(Math.max(ms, 1), TIMER_MS_MAX))
    return () => clearTimeout(timer)
  },
}

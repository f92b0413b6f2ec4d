import { TIMER_MS_MAX } from './due.js'
import type { StopWatch } from './stop.js'

/**
 * Ends a look at what stands there: by the signal, or at the deadline, which no record that is read on the way may put
 * off. Its reason is what ends a command. To be taken before anybody listens.
 */
export function lookEnd(signal: AbortSignal, { dueAtMs }: StopWatch): AbortSignal {
  const delayMs = dueAtMs === undefined ? Number.POSITIVE_INFINITY : Math.max(0, dueAtMs - performance.now())
  // No look takes that long.
  if (delayMs > TIMER_MS_MAX) return signal
  const deadline = new AbortController()
  setTimeout(() => deadline.abort('deadline'), delayMs).unref()
  return AbortSignal.any([signal, deadline.signal])
}

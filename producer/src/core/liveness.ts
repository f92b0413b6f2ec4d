import type { RequestFailure } from '../source/answer.js'

/** The failures of one inbox in a row (KS-49); down or not is the latch of its alarm. */
export interface Liveness {
  readonly failures: number
  /** Monotonic time of the first of them. */
  readonly firstMs: number | undefined
  readonly reason: string | undefined
}

/** Nothing went wrong yet, or not any more. */
export const healthy: Liveness = { failures: 0, firstMs: undefined, reason: undefined }

/** One more failure. */
export function failed({ failures, firstMs }: Liveness, { reason }: RequestFailure, atMs: number): Liveness {
  return { failures: failures + 1, firstMs: firstMs ?? atMs, reason }
}

/** True where an inbox that is up goes down. */
export function goesDown({ failures }: Liveness, isDown: boolean, alertAfter: number): boolean {
  return !isDown && failures >= alertAfter
}

/** How long the failures have lasted: measured, never a product of settings (KS-50). */
export function secondsOf({ firstMs }: Liveness, nowMs: number): number {
  return firstMs === undefined ? 0 : Math.max(0, Math.round(nowMs - firstMs)) / 1000
}

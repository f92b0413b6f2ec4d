import type { Answer, UnreadCounts } from '../source/answer.js'

/** An answer counts as held from here on (KS-53). */
const HELD_MS = 250
const PAUSE_MIN_MS = 500
const PAUSE_MAX_MS = 5000
const RETRY_MIN_MS = 1000
const RETRY_MAX_MS = 30_000

/** When counts are asked for. */
export interface CountsTerms {
  readonly waitSeconds: number
  readonly pollSeconds: number
}

/** The one request for counts (KS-52): when the next is due, and what it sends. */
export interface CountsPoll {
  readonly isHeld: boolean
  /** Monotonic time of the next request. */
  readonly dueMs: number
  readonly sentMs: number
  /** Survives failures; never journaled (KS-14). */
  readonly cursor: string | undefined
  /** The pause after the next answer that brings nothing. */
  readonly pauseMs: number
  readonly failures: number
  readonly isPausing: boolean
}

/** Nothing was asked yet. */
export const firstCounts: CountsPoll = {
  isHeld: false,
  dueMs: Number.NEGATIVE_INFINITY,
  sentMs: Number.NEGATIVE_INFINITY,
  cursor: undefined,
  pauseMs: PAUSE_MIN_MS,
  failures: 0,
  isPausing: false,
}

/** The request goes out. */
export function askedCounts(poll: CountsPoll, nowMs: number): CountsPoll {
  return { ...poll, isHeld: true, sentMs: nowMs, isPausing: false }
}

/** After its answer. `--wait 0` asks at a fixed pace, whatever came of the last one (KS-56). */
export function answeredCounts(
  poll: CountsPoll,
  answer: Answer<UnreadCounts>,
  terms: CountsTerms,
): { readonly poll: CountsPoll; readonly wasHeld: boolean; readonly isTokenNew: boolean } {
  const base = { ...poll, isHeld: false }
  const paceMs = poll.sentMs + terms.pollSeconds * 1000
  if (!answer.ok) {
    const failures = poll.failures + 1
    const retryMs = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(poll.failures, 10))
    const dueMs = terms.waitSeconds === 0 ? paceMs : answer.receivedMs + retryMs
    return { poll: { ...base, failures, dueMs }, wasHeld: false, isTokenNew: false }
  }
  const { cursor } = answer.value
  const isTokenNew = cursor !== undefined && cursor !== poll.cursor
  const wasHeld = cursor !== undefined && answer.receivedMs - answer.sentMs >= HELD_MS
  const next = { ...base, failures: 0, cursor: cursor ?? poll.cursor }
  if (terms.waitSeconds === 0) return { poll: { ...next, dueMs: paceMs }, wasHeld, isTokenNew }
  if (wasHeld) return { poll: { ...next, dueMs: answer.receivedMs }, wasHeld, isTokenNew }
  const dueMs = answer.receivedMs + Math.min(poll.pauseMs, terms.pollSeconds * 1000)
  const pauseMs = Math.min(PAUSE_MAX_MS, poll.pauseMs * 2)
  return { poll: { ...next, dueMs, pauseMs, isPausing: true }, wasHeld, isTokenNew }
}

/** A new row came in: an answer that it followed did bring something (KS-53). */
export function rowFollowed(poll: CountsPoll, nowMs: number): CountsPoll {
  if (!poll.isPausing) return { ...poll, pauseMs: PAUSE_MIN_MS }
  return { ...poll, pauseMs: PAUSE_MIN_MS, isPausing: false, dueMs: Math.min(poll.dueMs, nowMs) }
}

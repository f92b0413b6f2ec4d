import type { CoreOptions } from './core.js'
import type { Inbox } from './inbox.js'
import { phaseOf } from './phase.js'

/** So many polls are under way at a time (KS-54). */
const POLLS_MAX = 8

/** One that has waited so long for its answer does not hold back the others any more (KS-59). */
const SLOW_MS = 1000

/** As long as so many hang as could be under way, the next are given only so long: there may be hundreds of them. */
const SLOW_AMONG_SLOW_MS = 100

/** What decides when an inbox is polled again. */
export interface PaceTerms {
  readonly options: Pick<CoreOptions, 'pollSeconds' | 'resyncEvery'>
  /** A valid answer of counts is at hand: an inbox without unread mail waits for its resync. */
  readonly hasCounts: boolean
  /** Failed, down or pinned (KS-55). */
  readonly isTroubled: boolean
  /** It has unread mail and plain counts: as many messages may come as are read, and no count shows it (KS-54). */
  readonly mayHideMail: boolean
}

/** When an inbox whose poll just ended is polled again. */
export function nextDueMs(inbox: Inbox, startedMs: number, nowMs: number, terms: PaceTerms): number {
  const pollMs = terms.options.pollSeconds * 1000
  if (terms.isTroubled || !terms.hasCounts) return Math.max(nowMs, startedMs + pollMs)
  const everyMs = terms.mayHideMail ? pollMs : (terms.options.resyncEvery + 1) * pollMs
  if (inbox.isPhased) return Math.max(nowMs, startedMs + everyMs)
  inbox.isPhased = true
  return Math.max(nowMs, startedMs + everyMs * (1 - phaseOf(inbox.rank)))
}

/** The inboxes to poll now, those with mail first, and when there is something to do again. */
export function pollsToStart(
  inboxes: Iterable<Inbox>,
  nowMs: number,
): { readonly start: readonly Inbox[]; readonly wakeAtMs: number } {
  const due: Inbox[] = []
  const askedMs: number[] = []
  let wakeAtMs = Number.POSITIVE_INFINITY
  for (const inbox of inboxes) {
    if (inbox.poll !== undefined) {
      askedMs.push(inbox.askedMs)
    } else if (inbox.result === undefined) {
      if (inbox.dueMs <= nowMs) due.push(inbox)
      else wakeAtMs = Math.min(wakeAtMs, inbox.dueMs)
    }
  }
  const hanging = askedMs.filter(ms => ms + SLOW_MS <= nowMs).length
  const slowMs = hanging < POLLS_MAX ? SLOW_MS : SLOW_AMONG_SLOW_MS
  const busy = askedMs.filter(ms => ms + slowMs > nowMs)
  const free = Math.max(0, POLLS_MAX - busy.length)
  if (due.length > free) {
    due.sort(byUrgency)
    // Those that begin now may be what the rest waits for.
    const oldestMs = Math.min(...busy, free > 0 ? nowMs : Number.POSITIVE_INFINITY)
    wakeAtMs = Math.min(wakeAtMs, oldestMs + slowMs)
  }
  return { start: due.slice(0, free), wakeAtMs }
}

/** Mail first; then those that answered last time, so that the ones that hang wait for nobody's sake. */
function byUrgency(a: Inbox, b: Inbox): number {
  if (a.isUrgent !== b.isUrgent) return a.isUrgent ? -1 : 1
  const aFails = a.liveness.failures > 0
  const bFails = b.liveness.failures > 0
  if (aFails !== bFails) return aFails ? 1 : -1
  return a.dueMs - b.dueMs || a.rank - b.rank
}

/** When each inbox is polled: what this process knows of a watched inbox, which one is next, and what its pages come to. */
import type { Persona } from '../journal/persona.js'
import type { Answer, Page, PersonaCount, RequestFailure } from '../source/source.js'
import type { CoreOptions } from './core.js'
import type { CoreState } from './core-state.js'
import { pinOf } from './holes.js'
import {
  beginUnreadWalk,
  type PollResult,
  type PollUnderWay,
  seedOwed,
  stepPoll,
  stepUnreadWalk,
  type UnreadWalk,
} from './poll-pages.js'

/** How an inbox came to be watched. */
interface InboxPlace {
  readonly rank: number
  readonly nowMs: number
  readonly isFromStart: boolean
  readonly isAdded: boolean
  /** The newest record when this process began. */
  readonly startSeq: number
}

/** The schedule, the polls and the failures of one watched inbox. Times are monotonic. */
export class Inbox {
  readonly name: string
  readonly persona: Persona
  readonly #startSeq: number
  /** Its place in the order in which inboxes came in. */
  readonly rank: number
  /** Known from the start of this process: from the journal, a list or the first directory. */
  readonly isFromStart: boolean
  /** It came after the registry was announced for all: `persona_added` comes first (KS-33). */
  readonly isAdded: boolean
  /** When the next poll is due. */
  dueMs: number
  /**
   * Its count rose, the token changed or a client asked for it: it goes before those that are only due. A poll that was
   * sent before does not settle it, so it is taken back when one begins and may be set again while that is under way.
   */
  isUrgent = false
  /** It is due by then at the latest. Taken back when a poll begins, and may be set again while that is under way. */
  #byMs = Number.POSITIVE_INFINITY
  poll: PollUnderWay | undefined
  /** When the last poll began, and when it asked for its last page. */
  startedMs = 0
  askedMs = 0
  /** A poll that came in and is not wholly in the journal yet. */
  result: PollResult | undefined
  /** Polls that ended. */
  polls = 0
  lastPollMs: number | undefined
  lastHealthyMs: number | undefined
  lastStatus: number | undefined
  /** Failed polls in a row, when the first of them ended, and why the last one failed (KS-49). */
  failures = 0
  #failingSinceMs = 0
  lastReason: string | undefined
  /** The first poll after arming was put at the inbox's own phase. */
  #isPhased = false
  /** What the last answer counted. */
  countSeen: PersonaCount | undefined
  /** When the last healthy poll began, if it showed unread mail that its owner did not write; local dialect only. */
  showedUnreadMs: number | undefined
  /** The poll under way is one for its own sake, not for a rise. */
  isResync = false
  /** Messages that were read, as the counts or a walk over unread rows say. */
  reads: readonly number[] = []
  /** The walk over unread rows that is under way (KS-58). */
  unreadWalk: UnreadWalk | undefined
  /** The last page asked for that walk: an answer to an earlier one belongs to a walk that is over. */
  unreadAskId: number | undefined

  constructor(persona: Persona, { rank, nowMs, isFromStart, isAdded, startSeq }: InboxPlace) {
    this.name = persona.name
    this.persona = persona
    this.rank = rank
    this.dueMs = nowMs
    this.isFromStart = isFromStart
    this.isAdded = isAdded
    this.#startSeq = startSeq
  }

  /** True once the `armed` record of this process is durable. */
  get isArmed(): boolean {
    return this.persona.armedSeq > this.#startSeq
  }

  /** Due at once. */
  want(nowMs: number): void {
    this.isUrgent = true
    this.dueMs = Math.min(this.dueMs, nowMs)
  }

  /** Due by then at the latest, also if a poll under way ends before. */
  wantBy(ms: number): void {
    this.#byMs = Math.min(this.#byMs, ms)
    this.dueMs = Math.min(this.dueMs, ms)
  }

  /** A poll begins: it settles what was wanted before. */
  begin(nowMs: number): void {
    this.isResync = !this.isUrgent && this.isArmed
    this.startedMs = nowMs
    this.isUrgent = false
    this.#byMs = Number.POSITIVE_INFINITY
    this.unreadWalk = undefined
  }

  /** A poll ended. Health is judged then, once, whatever becomes of the records (KS-18). */
  ended(result: PollResult): void {
    const { receivedMs } = result
    this.poll = undefined
    this.result = result
    this.polls++
    this.lastPollMs = receivedMs
    if (result.kind === 'failed') this.#failed(result.failure, receivedMs)
    else {
      this.lastHealthyMs = receivedMs
      this.failures = 0
      this.lastStatus = undefined
      this.lastReason = undefined
    }
  }

  #failed({ status, reason }: RequestFailure, atMs: number): void {
    if (this.failures++ === 0) this.#failingSinceMs = atMs
    this.lastStatus = status
    this.lastReason = reason
  }

  /** How long the failures have lasted: measured, never a product of settings (KS-50). */
  failingSeconds(nowMs: number): number {
    return Math.max(0, Math.round(nowMs - this.#failingSinceMs)) / 1000
  }

  /** The result of a poll is in the journal: says when the next poll is due. What came after it was sent is not in it. */
  rest(nowMs: number, pace: Pace): void {
    this.dueMs = Math.min(this.#nextDueMs(nowMs, pace), this.#byMs)
    if (this.isUrgent) this.want(nowMs)
  }

  #nextDueMs(nowMs: number, { options, hasCounts, isTroubled, mayHideMail }: Pace): number {
    const pollMs = options.pollSeconds * 1000
    if (isTroubled || !hasCounts) return Math.max(nowMs, this.startedMs + pollMs)
    const everyMs = mayHideMail ? pollMs : (options.resyncEvery + 1) * pollMs
    const phase = this.#isPhased ? 0 : phaseOf(this.rank)
    this.#isPhased = true
    return Math.max(nowMs, this.startedMs + everyMs * (1 - phase))
  }
}

/** What decides when an inbox is polled again. */
interface Pace {
  readonly options: Pick<CoreOptions, 'pollSeconds' | 'resyncEvery'>
  /** A valid answer of counts is at hand: an inbox without unread mail waits for its resync. */
  readonly hasCounts: boolean
  /** Failed, down or pinned (KS-55). */
  readonly isTroubled: boolean
  /** It has unread mail and plain counts: as many messages may come as are read, and no count shows it (KS-54). */
  readonly mayHideMail: boolean
}

/**
 * Where in its first interval the n-th persona is polled again: 0, 1/2, 1/4, 3/4, 1/8 … so that however many
 * there are, they spread over it evenly and stay apart from then on (KS-55).
 */
export function phaseOf(n: number): number {
  let phase = 0
  let step = 0.5
  for (let rest = n; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) phase += step
    step /= 2
  }
  return phase
}

/** So many polls are under way at a time (KS-54). */
const POLLS_MAX = 8

/** One that has waited so long for its answer does not hold back the others any more (KS-59). */
const SLOW_MS = 1000

/** As long as so many hang as could be under way, the next are given only so long: there may be hundreds of them. */
const SLOW_AMONG_SLOW_MS = 100

/** The inboxes to poll now, those with mail first, and when there is something to do again. */
function pollsToStart(
  inboxes: readonly Inbox[],
  nowMs: number,
): { readonly start: readonly Inbox[]; readonly wakeAtMs: number } {
  const resting = inboxes.filter(({ poll, result }) => poll === undefined && result === undefined)
  const due = resting.filter(({ dueMs }) => dueMs <= nowMs)
  const askedMs = inboxes.flatMap(inbox => (inbox.poll === undefined ? [] : [inbox.askedMs]))
  let wakeAtMs = Number.POSITIVE_INFINITY
  for (const { dueMs } of resting) if (dueMs > nowMs) wakeAtMs = Math.min(wakeAtMs, dueMs)
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

/** Mail first; then those that answered last time, so that one that hangs delays none of the others. */
function byUrgency(a: Inbox, b: Inbox): number {
  if (a.isUrgent !== b.isUrgent) return a.isUrgent ? -1 : 1
  const aFails = a.failures > 0
  const bFails = b.failures > 0
  if (aFails !== bFails) return aFails ? 1 : -1
  return a.dueMs - b.dueMs || a.rank - b.rank
}

/** A first contact waits so long for the first counts, to say how much of what it takes over is unread. */
const COUNTS_GRACE_MS = 1000

export class Poller {
  readonly #core: CoreState
  /** Whose page was asked for, and why. */
  readonly #asked: Map<number, { readonly inbox: Inbox; readonly purpose: 'poll' | 'unread' }> = new Map()
  polls = 0
  failures = 0

  constructor(core: CoreState) {
    this.#core = core
  }

  /** Asks for the newest page of every inbox whose turn it is; says when the next turn comes. */
  start(nowMs: number): number {
    // One that was added is asked only when the record that says so is in the journal.
    const ready = [...this.#core.inboxes.values()].filter(
      ({ isAdded, persona }) => !isAdded || persona.record !== undefined,
    )
    const { start, wakeAtMs } = pollsToStart(ready, nowMs)
    for (const inbox of start) this.#begin(inbox, nowMs)
    // If its grace is over, a first contact waits for the disk, which no clock tells.
    const graces = ready.map(inbox => this.#graceEndsMs(inbox)).filter(endsMs => endsMs > nowMs)
    return Math.min(wakeAtMs, ...graces)
  }

  #begin(inbox: Inbox, nowMs: number): void {
    const { isArmed, persona } = inbox
    inbox.begin(nowMs)
    const arrival = this.#core.arrivalOf(inbox)
    const seed = seedOwed(persona, arrival, { isArmed, seedAt: this.#core.options.seedAt })
    inbox.poll = { arrival, seed, wasArmed: isArmed, seen: undefined }
    this.#ask(inbox, 'poll', undefined, nowMs)
  }

  #ask(inbox: Inbox, purpose: 'poll' | 'unread', beforeId: number | undefined, nowMs: number): void {
    inbox.askedMs = nowMs
    const query = { persona: inbox.name, beforeId, unreadOnly: purpose === 'unread' ? true : undefined }
    const id = this.#core.ask({ kind: 'page', query })
    this.#asked.set(id, { inbox, purpose })
    if (purpose === 'unread') inbox.unreadAskId = id
  }

  answered(id: number, answer: Answer<Page>, nowMs: number): void {
    const asked = this.#asked.get(id)
    if (asked === undefined) return
    this.#asked.delete(id)
    if (asked.purpose === 'unread') this.#unreadPage(asked.inbox, id, answer, nowMs)
    else this.#pollPage(asked.inbox, answer, nowMs)
  }

  #pollPage(inbox: Inbox, answer: Answer<Page>, nowMs: number): void {
    if (inbox.poll === undefined) return
    const step = stepPoll(inbox.poll, inbox.persona, answer)
    if (step.kind === 'ask') {
      inbox.poll = step.poll
      this.#ask(inbox, 'poll', step.beforeId, nowMs)
      return
    }
    inbox.ended(step.result)
    this.#core.dirty.add(inbox.name)
    this.#count(inbox, step.result)
  }

  #count(inbox: Inbox, result: PollResult): void {
    this.polls++
    if (result.kind === 'failed') {
      this.failures++
      return
    }
    const { mode, options, unproven } = this.#core
    const isUnread = result.rows.some(({ row }) => !row.read && row.from !== inbox.name)
    inbox.showedUnreadMs = isUnread && options.dialect === 'local' ? inbox.startedMs : undefined
    // An inbox that has mail, or ever had, exists.
    if (result.rows.length > 0 || inbox.persona.messages.size > 0) unproven.delete(inbox.name)
    else if (mode === 'list') unproven.add(inbox.name)
  }

  #graceEndsMs({ isArmed, result }: Inbox): number {
    const { hasHeardCounts, options } = this.#core
    const isFirst = result?.kind === 'healthy' && result.arrival === 'first-contact' && !isArmed
    return isFirst && options.fastPath && !hasHeardCounts
      ? result.receivedMs + COUNTS_GRACE_MS
      : Number.NEGATIVE_INFINITY
  }

  /** True for a first contact that the first counts may still say something about (KS-31). */
  isWaiting(inbox: Inbox, nowMs: number): boolean {
    return nowMs < this.#graceEndsMs(inbox)
  }

  /** Everything a poll brought is in the journal: its inbox gets its next turn. */
  finish(inbox: Inbox, nowMs: number): void {
    const { persona, result } = inbox
    if (result === undefined) return
    inbox.result = undefined
    const core = this.#core
    const hasFailed = result.kind === 'failed'
    const mayHaveMail = core.unreadOf(inbox.name) !== 0 || inbox.showedUnreadMs !== undefined
    inbox.rest(nowMs, {
      options: core.options,
      hasCounts: core.table !== undefined,
      isTroubled: hasFailed || persona.isDown || pinOf(persona) !== undefined,
      mayHideMail: core.hasPlainCounts && mayHaveMail,
    })
    core.isGenesisDirty = true
    core.dirty.add(inbox.name)
    if (!hasFailed && inbox.isResync) this.#wantUnreadWalk(inbox, nowMs)
  }

  /** KS-58: more is unread here than the server counts, so some of it was read elsewhere. */
  #wantUnreadWalk(inbox: Inbox, nowMs: number): void {
    const core = this.#core
    const unread = core.unreadOf(inbox.name)
    if (core.options.dialect !== 'hosted' || unread === 'unknown' || unread === 0) return
    if (inbox.persona.messages.unread <= unread) return
    inbox.unreadWalk = beginUnreadWalk(core.personas.headSeq)
    this.#ask(inbox, 'unread', undefined, nowMs)
  }

  #unreadPage(inbox: Inbox, id: number, answer: Answer<Page>, nowMs: number): void {
    const { unreadWalk } = inbox
    // A poll that began since then ended the walk, and another walk may have begun.
    if (unreadWalk === undefined || inbox.unreadAskId !== id) return
    const { walk, isOver, isCovered } = stepUnreadWalk(unreadWalk, answer)
    inbox.unreadWalk = isOver ? undefined : walk
    if (!isOver) this.#ask(inbox, 'unread', walk.beforeId, nowMs)
    else if (isCovered) {
      inbox.reads = inbox.persona.messages.unreadUpTo(walk.headSeq).filter(one => !walk.unread.has(one))
      if (inbox.reads.length > 0) this.#core.dirty.add(inbox.name)
    }
  }
}

/** When the server is asked: for the counts of unread mail, and for each inbox; and which inboxes an answer makes due. */
import type { Persona } from '../journal/persona.js'
import type { Answer, Page, PersonaCount, RequestFailure, UnreadCounts } from '../source/source.js'
import { hasFacts } from './committer.js'
import type { CoreOptions, CoreState } from './core.js'
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

/** An answer counts as held from here on (KS-53). */
const HELD_MS = 250
const PAUSE_MIN_MS = 500
const PAUSE_MAX_MS = 5000
const RETRY_MIN_MS = 1000
const RETRY_MAX_MS = 30_000

/** What a persona without a row has (KS-13). */
const noMail: PersonaCount = { unread: 0, unreadUrgent: 0 }

type Counted = Extract<Answer<UnreadCounts>, { readonly ok: true }>

/** The one request for counts of unread mail (KS-52): when it is made, and which inboxes its answer makes due. */
export class CountsPoller {
  readonly #core: CoreState
  #isHeld = false
  #dueMs = Number.NEGATIVE_INFINITY
  #sentMs = Number.NEGATIVE_INFINITY
  /** The newest record when the counts were asked for: the answer says nothing about later mail. */
  #askedSeq = 0
  /** The token of the last answer. It survives failures, and is never in the journal (KS-14). */
  #cursor: string | undefined
  /** The pause after the next answer that brings nothing. */
  #pauseMs = PAUSE_MIN_MS
  #isPausing = false
  #failures = 0
  /** When the last answer was received, if it counted no unread mail. */
  #emptyMs: number | undefined
  #isCountless = false
  /** When a name was first seen in the counts. */
  readonly firstSeenMs: Map<string, number> = new Map()

  constructor(core: CoreState) {
    this.#core = core
  }

  /** Asks if it is time; says when the next time comes. */
  start(nowMs: number): number {
    const { options, personas } = this.#core
    if (!options.fastPath || this.#isHeld) return Number.POSITIVE_INFINITY
    if (this.#dueMs > nowMs) return this.#dueMs
    this.#isHeld = true
    this.#isPausing = false
    this.#sentMs = nowMs
    this.#askedSeq = personas.headSeq
    this.#core.ask({ kind: 'counts', query: { waitSeconds: options.waitSeconds, cursor: this.#cursor } })
    return Number.POSITIVE_INFINITY
  }

  answered(answer: Answer<UnreadCounts>, nowMs: number): void {
    const core = this.#core
    this.#isHeld = false
    core.hasHeardCounts = true
    if (!answer.ok) {
      this.#failed(answer.receivedMs)
      this.#lost(answer.failure.reason, nowMs, core.options.waitSeconds > 0)
      return
    }
    const { byPersona, refused, cursor } = answer.value
    const isTokenNew = cursor !== undefined && this.#cursor !== undefined && cursor !== this.#cursor
    const wasHeld = cursor !== undefined && answer.receivedMs - answer.sentMs >= HELD_MS
    this.#failures = 0
    this.#cursor = cursor ?? this.#cursor
    this.#rest(answer.receivedMs, wasHeld)
    for (const name of refused) core.refuse(name)
    if (core.options.dialect === 'local' && this.#seesCountless(answer)) {
      this.#lost('the server counts 0, but an inbox shows unread mail', nowMs, false)
      return
    }
    this.#say(undefined)
    core.table = byPersona
    core.hasPlainCounts = core.options.dialect === 'local' || cursor === undefined
    core.areAlertsDirty = true
    const seenMs = this.firstSeenMs
    for (const name of byPersona.keys()) if (!seenMs.has(name)) seenMs.set(name, answer.receivedMs)
    for (const name of seenMs.keys()) if (!byPersona.has(name)) seenMs.delete(name)
    this.#makeDue(byPersona, { wasHeld, isTokenNew }, nowMs)
    this.#takeReads(byPersona)
    this.#lookForNames(byPersona, nowMs)
  }

  get #paceMs(): number {
    return this.#core.options.pollSeconds * 1000
  }

  #failed(receivedMs: number): void {
    const retryMs = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(this.#failures, 10))
    this.#failures += 1
    // `--wait 0` asks at a fixed pace, whatever came of the last one (KS-56).
    const isPaced = this.#core.options.waitSeconds === 0
    this.#dueMs = isPaced ? this.#sentMs + this.#paceMs : receivedMs + retryMs
  }

  #rest(receivedMs: number, wasHeld: boolean): void {
    if (this.#core.options.waitSeconds === 0) this.#dueMs = this.#sentMs + this.#paceMs
    else if (wasHeld) this.#dueMs = receivedMs
    else {
      this.#dueMs = receivedMs + Math.min(this.#pauseMs, this.#paceMs)
      this.#pauseMs = Math.min(PAUSE_MAX_MS, this.#pauseMs * 2)
      this.#isPausing = true
    }
  }

  /** A new row came in with a poll: the answer before it did bring something (KS-53). */
  rowFollowed(nowMs: number): void {
    this.#pauseMs = PAUSE_MIN_MS
    if (!this.#isPausing) return
    this.#isPausing = false
    this.#dueMs = Math.min(this.#dueMs, nowMs)
  }

  /** Notices a local daemon that counts 0 whatever is unread (KS-15). Its counts would hide mail until the resync. */
  #seesCountless({ value, sentMs, receivedMs }: Counted): boolean {
    const isEmpty = [...value.byPersona.values()].every(({ unread }) => unread === 0)
    const beforeMs = this.#emptyMs
    this.#emptyMs = isEmpty ? receivedMs : undefined
    if (!isEmpty) this.#isCountless = false
    else if (beforeMs !== undefined && !this.#isCountless) {
      // The whole poll lies between the two answers: each should have counted what it showed.
      this.#isCountless = [...this.#core.inboxes.values()].some(
        ({ showedUnreadMs, lastHealthyMs }) =>
          showedUnreadMs !== undefined && showedUnreadMs > beforeMs && (lastHealthyMs ?? sentMs) <= sentMs,
      )
    }
    return this.#isCountless
  }

  /** Without counts, no answer says which inbox has mail (KS-55, KS-56). */
  #lost(reason: string, nowMs: number, isDueAtOnce: boolean): void {
    this.#say(reason)
    this.#core.table = undefined
    for (const inbox of this.#core.inboxes.values()) {
      if (isDueAtOnce) inbox.want(nowMs)
      else inbox.wantBy(inbox.startedMs + this.#paceMs)
    }
  }

  /** KS-54: what each inbox's counts ask for, and what a new token does. */
  #makeDue(
    table: UnreadCounts['byPersona'],
    news: { readonly wasHeld: boolean; readonly isTokenNew: boolean },
    nowMs: number,
  ): void {
    const { hasPlainCounts, inboxes } = this.#core
    const withMail: Inbox[] = []
    let hasRisen = false
    for (const inbox of inboxes.values()) {
      const count = table.get(inbox.name) ?? noMail
      const seen = inbox.countSeen
      inbox.countSeen = count
      // The first answer shows no change, unless it was held until mail came.
      const rises = seen === undefined ? news.wasHeld && count.unread > 0 : count.unread > seen.unread
      if (rises) hasRisen = true
      if (rises || (hasPlainCounts && hasChanged(seen, count))) inbox.want(nowMs)
      else if (count.unread > 0) {
        withMail.push(inbox)
        if (hasPlainCounts) inbox.wantBy(inbox.startedMs + this.#paceMs)
        // Mail that is counted here may have come after the first poll.
        else if (seen === undefined && inbox.startedMs < nowMs) inbox.wantBy(nowMs + this.#paceMs)
      }
    }
    if (!news.isTokenNew) return
    const soonMs = nowMs + this.#paceMs
    if (hasRisen) {
      for (const inbox of withMail) inbox.wantBy(soonMs)
      return
    }
    for (const inbox of withMail) inbox.want(nowMs)
    for (const inbox of inboxes.values()) inbox.wantBy(soonMs)
  }

  /** Urgent counts that changed, and (hosted) mail that was read, as no unread mail is left (KS-58). */
  #takeReads(table: UnreadCounts['byPersona']): void {
    const core = this.#core
    for (const inbox of core.inboxes.values()) {
      const { messages, record } = inbox.persona
      const isEmpty = core.options.dialect === 'hosted' && core.unreadOf(inbox.name) === 0
      if (isEmpty && messages.unread > 0 && record !== undefined) {
        inbox.reads = messages.unreadUpTo(this.#askedSeq)
      }
      if (hasFacts(inbox.persona, inbox, table)) core.dirty.add(inbox.name)
    }
  }

  /** KS-69: an unknown name may be a new persona. */
  #lookForNames(table: UnreadCounts['byPersona'], nowMs: number): void {
    const { directory } = this.#core
    if (directory === undefined) return
    for (const name of table.keys()) {
      if (directory.entries?.has(name) === true) continue
      if ((this.firstSeenMs.get(name) ?? nowMs) > directory.sentMs) {
        directory.want(nowMs)
        return
      }
    }
  }

  /** Logs why the counts are unavailable, or with undefined that they are available. */
  #say(why: string | undefined): void {
    const reason = why ?? ''
    this.#core.noteChange(
      'counts_unavailable',
      why !== undefined,
      {
        level: 'warn',
        code: 'counts_unavailable',
        message: `cannot use the server's counts of unread mail (${reason}); polling every inbox instead`,
        // A server without counts is as good as another; one that does not answer at all is not.
        failure: /^(unreachable|http 401)/.test(reason) ? reason : undefined,
      },
      { level: 'info', code: 'counts_available', message: 'the server returns counts of unread mail again' },
    )
  }
}

/** True if a count of unread or of urgent mail is another; a missing count of urgent mail says nothing. */
function hasChanged(seen: PersonaCount | undefined, { unread, unreadUrgent }: PersonaCount): boolean {
  if (seen === undefined) return false
  if (unread !== seen.unread) return true
  return unreadUrgent !== undefined && seen.unreadUrgent !== undefined && unreadUrgent !== seen.unreadUrgent
}

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

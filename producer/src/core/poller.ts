import type { Answer, Page } from '../source/answer.js'
import type { CoreState } from './core-state.js'
import type { Inbox } from './inbox.js'
import { failed, healthy } from './liveness.js'
import { pinOf } from './pin.js'
import type { PollResult } from './poll.js'
import { stepPoll } from './poll.js'
import { seedOwed } from './poll-floor.js'
import { nextDueMs, pollsToStart } from './schedule.js'
import { beginUnreadWalk, stepUnreadWalk } from './unread-walk.js'

/** Whose page was asked for, and why. */
interface PageAsked {
  readonly inbox: Inbox
  readonly purpose: 'poll' | 'unread'
}

/** A first contact waits so long for the first counts, to say how much of what it takes over is unread. */
const COUNTS_GRACE_MS = 1000

/** Polls inboxes: which to ask now, and what their pages come to. */
export class Poller {
  readonly #core: CoreState
  readonly #asked: Map<number, PageAsked> = new Map()
  polls = 0
  failures = 0

  constructor(core: CoreState) {
    this.#core = core
  }

  /** Asks for the newest page of every inbox whose turn it is; says when the next turn comes. */
  start(nowMs: number): number {
    const ready = [...this.#core.inboxes.values()].filter(inbox => this.#mayStart(inbox))
    const { start, wakeAtMs } = pollsToStart(ready, nowMs)
    for (const inbox of start) this.#begin(inbox, nowMs)
    let wake = wakeAtMs
    for (const inbox of ready) {
      // One whose grace is over waits for the disk, and that is not told by a clock.
      if (this.isWaiting(inbox, nowMs)) wake = Math.min(wake, this.#graceEndsMs(inbox))
    }
    return wake
  }

  /** One that was added is asked only when the record that says so stands. */
  #mayStart(inbox: Inbox): boolean {
    return !inbox.isAdded || inbox.persona.record !== undefined
  }

  #begin(inbox: Inbox, nowMs: number): void {
    const { persona } = inbox
    inbox.isResync = !inbox.isUrgent && inbox.isArmed
    inbox.begin(nowMs)
    inbox.unreadWalk = undefined
    const arrival = this.#core.arrivalOf(inbox)
    const { isArmed } = inbox
    const seed = seedOwed(persona, arrival, { isArmed, seedAt: this.#core.options.seedAt })
    inbox.poll = { startedMs: nowMs, arrival, seed, wasArmed: isArmed, seen: undefined }
    this.#ask(inbox, 'poll', undefined, nowMs)
  }

  #ask(inbox: Inbox, purpose: PageAsked['purpose'], beforeId: number | undefined, nowMs: number): void {
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
    inbox.poll = undefined
    inbox.result = step.result
    this.#core.dirty.add(inbox.name)
    this.#judge(inbox, step.result)
  }

  /** Health is judged when the answer is in, once, whatever becomes of the records (KS-18). */
  #judge(inbox: Inbox, result: PollResult): void {
    this.polls++
    inbox.polls++
    inbox.lastPollMs = result.receivedMs
    if (result.kind === 'failed') {
      this.failures++
      inbox.lastStatus = result.failure.status
      inbox.liveness = failed(inbox.liveness, result.failure, result.receivedMs)
    } else {
      inbox.lastStatus = undefined
      inbox.lastHealthyMs = result.receivedMs
      inbox.liveness = healthy
      this.#prove(inbox, result.rows.length > 0)
      const isUnread = result.rows.some(({ row }) => !row.read && row.from !== inbox.name)
      inbox.showedUnreadMs = isUnread && this.#core.options.dialect === 'local' ? inbox.startedMs : undefined
    }
  }

  /** One that has mail, or ever had, exists. */
  #prove({ name, persona }: Inbox, hasRows: boolean): void {
    const { mode, unproven } = this.#core
    if (mode === 'all') return
    if (hasRows || persona.messages.size > 0) unproven.delete(name)
    else unproven.add(name)
  }

  #graceEndsMs(inbox: Inbox): number {
    const { result } = inbox
    const { hasHeardCounts, options } = this.#core
    if (hasHeardCounts || !options.fastPath || result?.kind !== 'healthy') return Number.POSITIVE_INFINITY
    if (result.arrival !== 'first-contact' || inbox.isArmed) return Number.POSITIVE_INFINITY
    return result.receivedMs + COUNTS_GRACE_MS
  }

  /** True for a first contact that the first counts may still say something about (KS-31). */
  isWaiting(inbox: Inbox, nowMs: number): boolean {
    const endsMs = this.#graceEndsMs(inbox)
    return endsMs !== Number.POSITIVE_INFINITY && nowMs < endsMs
  }

  /** Everything a poll brought is in the journal: its inbox gets its next turn. */
  finish(inbox: Inbox, nowMs: number): void {
    const { result } = inbox
    if (result === undefined) return
    inbox.result = undefined
    const core = this.#core
    const { persona } = inbox
    const hasFailed = result.kind === 'failed'
    const dueMs = nextDueMs(inbox, inbox.startedMs, nowMs, {
      options: core.options,
      hasCounts: core.table !== undefined,
      isTroubled: hasFailed || persona.isDown || pinOf(persona) !== undefined,
      mayHideMail:
        core.hasPlainCounts && (core.unreadOf(inbox.name) !== 0 || inbox.showedUnreadMs !== undefined),
    })
    inbox.rest(dueMs, nowMs)
    core.isGenesisDirty = true
    core.dirty.add(inbox.name)
    if (!hasFailed && inbox.isResync) this.#wantUnreadWalk(inbox, nowMs)
  }

  /** KS-58: more is unread here than the server counts, so some of it was read elsewhere. */
  #wantUnreadWalk(inbox: Inbox, nowMs: number): void {
    const core = this.#core
    if (core.options.dialect !== 'hosted') return
    const unread = core.unreadOf(inbox.name)
    if (unread === 'unknown' || unread === 0) return
    if (inbox.persona.messages.unread <= unread) return
    inbox.unreadWalk = beginUnreadWalk(core.personas.headSeq)
    this.#ask(inbox, 'unread', undefined, nowMs)
  }

  #unreadPage(inbox: Inbox, id: number, answer: Answer<Page>, nowMs: number): void {
    const { unreadWalk } = inbox
    // A poll that began meanwhile ended the walk, and another may have begun since.
    if (unreadWalk === undefined || inbox.unreadAskId !== id) return
    const { walk, isOver, isCovered } = stepUnreadWalk(unreadWalk, answer)
    if (!isOver) {
      inbox.unreadWalk = walk
      this.#ask(inbox, 'unread', walk.beforeId, nowMs)
      return
    }
    inbox.unreadWalk = undefined
    if (!isCovered) return
    inbox.reads = inbox.persona.messages.unreadUpTo(walk.headSeq).filter(id => !walk.unread.has(id))
    if (inbox.reads.length > 0) this.#core.dirty.add(inbox.name)
  }
}

/** Polls inboxes: which to ask now, and what their pages come to. */
import type { Answer, Page } from '../source/source.js'
import type { CoreState } from './core-state.js'
import { pinOf } from './holes.js'
import { type Inbox, pollsToStart } from './inbox.js'
import { beginUnreadWalk, type PollResult, seedOwed, stepPoll, stepUnreadWalk } from './poll.js'

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

import type { Answer, PersonaCount, UnreadCounts } from '../source/answer.js'
import type { CoreState } from './core-state.js'
import { CountlessServer } from './countless-server.js'
import { answeredCounts, askedCounts, type CountsPoll, firstCounts, rowFollowed } from './counts-poll.js'
import { hasFacts } from './facts-plan.js'
import type { Inbox } from './inbox.js'

/** What a persona without a row has (KS-13). */
const noMail: PersonaCount = { unread: 0, unreadUrgent: 0 }

/** Asks for counts, and makes due whom they concern. */
export class CountsPoller {
  readonly #core: CoreState
  #poll: CountsPoll = firstCounts
  readonly #countless = new CountlessServer()
  /** The newest record when the counts were asked for: the answer says nothing about later mail. */
  #askedSeq = 0
  /** When a name was first seen in the counts. */
  readonly firstSeenMs: Map<string, number> = new Map()

  constructor(core: CoreState) {
    this.#core = core
  }

  /** Asks if it is time; says when the next time comes. */
  start(nowMs: number): number {
    const { options } = this.#core
    if (!options.fastPath || this.#poll.isHeld) return Number.POSITIVE_INFINITY
    if (this.#poll.dueMs > nowMs) return this.#poll.dueMs
    const { cursor } = this.#poll
    this.#poll = askedCounts(this.#poll, nowMs)
    this.#askedSeq = this.#core.personas.headSeq
    this.#core.ask({ kind: 'counts', query: { waitSeconds: options.waitSeconds, cursor } })
    return Number.POSITIVE_INFINITY
  }

  answered(answer: Answer<UnreadCounts>, nowMs: number): void {
    const core = this.#core
    const had = this.#poll.cursor
    const { poll, wasHeld, isTokenNew } = answeredCounts(this.#poll, answer, core.options)
    this.#poll = poll
    core.hasHeardCounts = true
    if (!answer.ok) {
      this.#say(answer.failure.reason)
      this.#lost(nowMs, core.options.waitSeconds > 0)
      return
    }
    const { byPersona, refused, cursor } = answer.value
    for (const name of refused) core.refuse(name)
    if (core.options.dialect === 'local' && this.#countless.shows(answer, core.inboxes.values())) {
      this.#say('the server counts no unread mail, and an inbox shows some')
      this.#lost(nowMs, false)
      return
    }
    this.#say(undefined)
    core.table = byPersona
    core.hasPlainCounts = core.options.dialect === 'local' || cursor === undefined
    core.areAlarmsDirty = true
    for (const name of byPersona.keys()) {
      if (!this.firstSeenMs.has(name)) this.firstSeenMs.set(name, answer.receivedMs)
    }
    for (const name of this.firstSeenMs.keys()) if (!byPersona.has(name)) this.firstSeenMs.delete(name)
    this.#makeDue({ wasHeld, isTokenNew: isTokenNew && had !== undefined }, nowMs)
    this.#takeIn()
    this.#lookForNames(nowMs)
  }

  /** A new row came in with a poll. */
  rowFollowed(nowMs: number): void {
    this.#poll = rowFollowed(this.#poll, nowMs)
  }

  get #paceMs(): number {
    return this.#core.options.pollSeconds * 1000
  }

  /** Without counts, no answer says which inbox has mail (KS-55, KS-56). */
  #lost(nowMs: number, isDueAtOnce: boolean): void {
    this.#core.table = undefined
    for (const inbox of this.#core.inboxes.values()) {
      if (isDueAtOnce) inbox.want(nowMs)
      else inbox.wantBy(inbox.startedMs + this.#paceMs)
    }
  }

  /** KS-54: what each inbox's counts ask for, and what a new token does. */
  #makeDue(news: { readonly wasHeld: boolean; readonly isTokenNew: boolean }, nowMs: number): void {
    const core = this.#core
    const withMail: Inbox[] = []
    let hasRisen = false
    for (const inbox of core.inboxes.values()) {
      const count = core.table?.get(inbox.name) ?? noMail
      const seen = inbox.countSeen
      inbox.countSeen = count
      // The first answer shows no change, unless it was held until mail came.
      const rises = seen === undefined ? news.wasHeld && count.unread > 0 : count.unread > seen.unread
      if (rises) hasRisen = true
      if (rises || (core.hasPlainCounts && hasChanged(seen, count))) inbox.want(nowMs)
      else if (count.unread > 0) {
        withMail.push(inbox)
        if (core.hasPlainCounts) inbox.wantBy(inbox.startedMs + this.#paceMs)
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
    for (const inbox of core.inboxes.values()) inbox.wantBy(soonMs)
  }

  /** Urgent counts that changed, and (hosted) mail that was read, as no unread mail is left (KS-58). */
  #takeIn(): void {
    const core = this.#core
    for (const inbox of core.inboxes.values()) {
      const { persona } = inbox
      const isEmpty = core.options.dialect === 'hosted' && core.unreadOf(inbox.name) === 0
      if (isEmpty && persona.messages.unread > 0 && persona.record !== undefined) {
        inbox.reads = persona.messages.unreadUpTo(this.#askedSeq)
      }
      if (hasFacts(persona, inbox, core.table)) core.dirty.add(inbox.name)
    }
  }

  /** KS-69: a name that nobody knows may be a persona that is new. */
  #lookForNames(nowMs: number): void {
    const { directory, table } = this.#core
    if (directory === undefined || table === undefined) return
    for (const name of table.keys()) {
      if (directory.entries?.has(name) === true) continue
      if ((this.firstSeenMs.get(name) ?? nowMs) > directory.sentMs) {
        directory.want(nowMs)
        return
      }
    }
  }

  /** Why the counts are unavailable, or undefined where they are not. */
  #say(why: string | undefined): void {
    const reason = why ?? ''
    this.#core.noteChange(
      'counts_unavailable',
      why !== undefined,
      {
        level: 'warn',
        code: 'counts_unavailable',
        message: `the server returns no counts of unread mail (${reason}); polling every inbox instead`,
        // One that has no counts is as good as another; one that does not answer at all is not.
        failure: /^(unreachable|http 401)/.test(reason) ? reason : undefined,
      },
      { level: 'info', code: 'counts_available', message: 'the server returns counts of unread mail again' },
    )
  }
}

/** True where a count of unread or of urgent mail is another; a missing count of urgent mail says nothing. */
function hasChanged(seen: PersonaCount | undefined, { unread, unreadUrgent }: PersonaCount): boolean {
  if (seen === undefined) return false
  if (unread !== seen.unread) return true
  return unreadUrgent !== undefined && seen.unreadUrgent !== undefined && unreadUrgent !== seen.unreadUrgent
}

/** The one request for counts of unread mail (KS-52): when it is made, and which inboxes its answer makes due. */
import type { Answer, PersonaCount, UnreadCounts } from '../source/source.js'
import { hasFacts } from './committer.js'
import type { CoreState } from './core-state.js'
import type { Inbox } from './inbox-schedule.js'

/** An answer counts as held from here on (KS-53). */
const HELD_MS = 250
const PAUSE_MIN_MS = 500
const PAUSE_MAX_MS = 5000
const RETRY_MIN_MS = 1000
const RETRY_MAX_MS = 30_000

/** What a persona without a row has (KS-13). */
const noMail: PersonaCount = { unread: 0, unreadUrgent: 0 }

type Counted = Extract<Answer<UnreadCounts>, { readonly ok: true }>

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

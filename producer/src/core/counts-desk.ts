import type { Answer, Counts } from '../source/answer.js'
import { answeredCounts, askedCounts, type CountsPoll, firstCounts, rowFollowed } from './counts-poll.js'
import { hasFacts } from './facts-plan.js'
import type { Hive } from './hive.js'
import type { Inbox } from './inbox.js'

/** Asks for counts, and makes due whom they concern. */
export class CountsDesk {
  readonly #hive: Hive
  #poll: CountsPoll = firstCounts
  /** When a name was first seen in the counts. */
  readonly firstSeenMs: Map<string, number> = new Map()

  constructor(hive: Hive) {
    this.#hive = hive
  }

  /** Asks if it is time; says when the next time comes. */
  start(nowMs: number): number {
    const { options } = this.#hive
    if (!options.fastPath || this.#poll.isHeld) return Number.POSITIVE_INFINITY
    if (this.#poll.dueMs > nowMs) return this.#poll.dueMs
    const { cursor } = this.#poll
    this.#poll = askedCounts(this.#poll, nowMs)
    this.#hive.ask({ kind: 'counts', query: { waitSeconds: options.waitSeconds, cursor } })
    return Number.POSITIVE_INFINITY
  }

  answered(answer: Answer<Counts>, nowMs: number): void {
    const hive = this.#hive
    const had = this.#poll.cursor
    const { poll, wasHeld, isTokenNew } = answeredCounts(this.#poll, answer, hive.options)
    this.#poll = poll
    hive.hasHeardCounts = true
    this.#say(answer)
    if (!answer.ok) {
      this.#lost(nowMs)
      return
    }
    const { byPersona, refused } = answer.value
    for (const name of refused) hive.refuse(name)
    hive.table = byPersona
    hive.areAlarmsDirty = true
    for (const name of byPersona.keys()) {
      if (!this.firstSeenMs.has(name)) this.firstSeenMs.set(name, answer.receivedMs)
    }
    for (const name of this.firstSeenMs.keys()) if (!byPersona.has(name)) this.firstSeenMs.delete(name)
    this.#makeDue({ wasHeld, isTokenNew: isTokenNew && had !== undefined }, nowMs)
    this.#takeIn(answer.sentMs)
    this.#lookForNames(nowMs)
  }

  /** A new row came in with a poll. */
  rowFollowed(nowMs: number): void {
    this.#poll = rowFollowed(this.#poll, nowMs)
  }

  /** KS-56: without counts nobody knows where mail is. */
  #lost(nowMs: number): void {
    const hive = this.#hive
    const paceMs = hive.options.pollSeconds * 1000
    hive.table = undefined
    for (const inbox of hive.inboxes.values()) {
      if (hive.options.waitSeconds > 0) inbox.want(nowMs)
      else inbox.dueMs = Math.min(inbox.dueMs, inbox.startedMs + paceMs)
    }
  }

  /** KS-54: whose count rose is polled at once; a new token alone says that somebody has mail. */
  #makeDue(news: { readonly wasHeld: boolean; readonly isTokenNew: boolean }, nowMs: number): void {
    const hive = this.#hive
    const withMail: Inbox[] = []
    let hasRisen = false
    for (const inbox of hive.inboxes.values()) {
      const unread = hive.table?.get(inbox.name)?.unread ?? 0
      const { unreadSeen } = inbox
      // The first answer is what the first polls saw, unless it was held until mail came.
      const rises = unreadSeen === undefined ? news.wasHeld && unread > 0 : unread > unreadSeen
      inbox.unreadSeen = unread
      if (rises) {
        hasRisen = true
        inbox.want(nowMs)
      } else if (unread > 0) withMail.push(inbox)
    }
    if (!news.isTokenNew) return
    const soonMs = nowMs + hive.options.pollSeconds * 1000
    if (hasRisen) {
      for (const inbox of withMail) inbox.dueMs = Math.min(inbox.dueMs, soonMs)
      return
    }
    for (const inbox of withMail) inbox.want(nowMs)
    for (const inbox of hive.inboxes.values()) inbox.dueMs = Math.min(inbox.dueMs, soonMs)
  }

  /** Urgent counts that changed, and (hosted) mail that was read, as no unread mail is left (KS-58). */
  #takeIn(sentMs: number): void {
    const hive = this.#hive
    for (const inbox of hive.inboxes.values()) {
      const persona = hive.personas.take(inbox.name)
      const isEmpty = hive.options.dialect === 'hosted' && hive.unreadOf(inbox.name) === 0
      if (isEmpty && persona.index.unread > 0 && persona.image !== undefined) {
        inbox.reads = persona.index.unreadBefore(sentMs)
      }
      if (hasFacts(persona, inbox, hive.table)) hive.dirty.add(inbox.name)
    }
  }

  /** KS-69: a name that nobody knows may be a persona that is new. */
  #lookForNames(nowMs: number): void {
    const { directory, table } = this.#hive
    if (directory === undefined || table === undefined) return
    for (const name of table.keys()) {
      if (directory.entries?.has(name) === true) continue
      if ((this.firstSeenMs.get(name) ?? nowMs) > directory.sentMs) {
        directory.want(nowMs)
        return
      }
    }
  }

  #say(answer: Answer<Counts>): void {
    const reason = answer.ok ? '' : answer.failure.reason
    this.#hive.noteChange(
      'counts_unavailable',
      !answer.ok,
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

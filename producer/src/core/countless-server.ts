import type { Answer, UnreadCounts } from '../source/answer.js'
import type { Inbox } from './inbox.js'

/** Notices a local daemon that counts 0 whatever is unread (KS-15). Its counts would hide mail until the resync. */
export class CountlessServer {
  /** When the last answer was received, if it counted nothing. */
  #emptyMs: number | undefined
  #isCountless = false

  /** True where this answer counts nothing for a server that does not count. */
  shows(
    { value, sentMs, receivedMs }: Extract<Answer<UnreadCounts>, { ok: true }>,
    inboxes: Iterable<Inbox>,
  ): boolean {
    const isEmpty = [...value.byPersona.values()].every(({ unread }) => unread === 0)
    if (!isEmpty) {
      this.#emptyMs = undefined
      this.#isCountless = false
      return false
    }
    const emptyMs = this.#emptyMs
    this.#emptyMs = receivedMs
    if (emptyMs === undefined || this.#isCountless) return this.#isCountless
    for (const { showedUnreadMs, lastHealthyMs } of inboxes) {
      // The whole poll lies between the two answers: each should have counted what it showed.
      const isBetween = showedUnreadMs !== undefined && showedUnreadMs > emptyMs
      if (isBetween && (lastHealthyMs ?? sentMs) <= sentMs) this.#isCountless = true
    }
    return this.#isCountless
  }
}

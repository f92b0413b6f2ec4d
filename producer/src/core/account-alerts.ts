import type { Draft } from '../journal/draft.js'
import type { Persona } from '../journal/persona.js'
import {
  type AccountFacts,
  alarmDrafts,
  audienceOf,
  strandedInboxes,
  tierOf,
  urgentUnanswered,
} from './account-alarms.js'
import type { CoreState } from './core-state.js'
import { NameLists } from './name-lists.js'

/** So long at most an alarm waits for polls that may bring the answer it misses. */
const HOLD_MS_MAX = 1000

/** Keeps the two account-wide alarms as the counts, the directory and the journal have them (KS-63 to KS-65). */
export class AccountAlerts {
  readonly #core: CoreState
  readonly #firstSeenMs: ReadonlyMap<string, number>
  readonly #lists = new NameLists()
  #dormant: ReadonlySet<string> = new Set()
  /** Since when an alarm waits. */
  #heldMs: number | undefined

  constructor(core: CoreState, firstSeenMs: ReadonlyMap<string, number>) {
    this.#core = core
    this.#firstSeenMs = firstSeenMs
  }

  /** When what waits is looked at again, whatever comes in until then. */
  get wakeAtMs(): number {
    return this.#heldMs === undefined ? Number.POSITIVE_INFINITY : this.#heldMs + HOLD_MS_MAX
  }

  /** What is to be recorded now; nothing while anything it takes is not known. */
  *plan(nowMs: number): Generator<Draft> {
    const { directory, table, options, personas } = this.#core
    if (directory?.entries === undefined || table === undefined) return
    // Whether somebody ever wrote decides who is told.
    if (!personas.isSeen) return
    const watched = [...this.#core.inboxes.keys()].map(name => personas.take(name))
    const facts: AccountFacts = { directory: directory.entries, table, watched, personas }
    const audience = audienceOf(facts)
    if (options.strandedAlerts && this.#isConfirmed(facts, nowMs)) {
      const { stranded, dormant } = strandedInboxes(facts)
      this.#sayDormant(dormant)
      const kind = 'stranded-mail'
      const names = this.#lists.settle(kind, stranded)
      const members = {
        stranded_inboxes: names,
        ...(dormant.length > 0 ? { dormant_inboxes: dormant } : {}),
      }
      yield* alarmDrafts({ kind, names, members }, audience, watched, this.#lists)
    }
    if (options.urgentAlerts) {
      const { urgent, writeOnly } = urgentUnanswered(facts)
      if (urgent.length > 0 && this.#mayBeAnswered(watched, nowMs)) return
      this.#heldMs = undefined
      const kind = 'urgent-unanswered'
      const names = this.#lists.settle(kind, urgent)
      const members = {
        urgent_unanswered: names,
        ...(writeOnly.length > 0 ? { urgent_unanswered_write_only: writeOnly } : {}),
      }
      yield* alarmDrafts({ kind, names, members }, audience, watched, this.#lists)
    }
    this.#core.areAlarmsDirty = false
  }

  /**
   * True while an answer may be on its way: it lies in another inbox than the urgent mail, and the two are not polled
   * at the same instant. An inbox that nobody has looked into yet may hold one; so may, for a moment, one that is due.
   */
  #mayBeAnswered(watched: readonly Persona[], nowMs: number): boolean {
    if (watched.some(({ record, isDown }) => record === undefined && !isDown)) return true
    const inboxes = [...this.#core.inboxes.values()]
    const isSettled = inboxes.every(
      ({ polls, isUrgent, poll, result }) =>
        polls > 0 && !isUrgent && poll === undefined && result === undefined,
    )
    if (isSettled) return false
    this.#heldMs ??= nowMs
    return nowMs < this.wakeAtMs
  }

  /** A name is judged by a directory that was fetched after it was first seen in the counts. */
  #isConfirmed({ directory, table }: AccountFacts, nowMs: number): boolean {
    const watch = this.#core.directory
    if (watch === undefined) return false
    for (const [name, { unread }] of table) {
      if (unread <= 0 || tierOf(directory.get(name)) === 'fine') continue
      if ((this.#firstSeenMs.get(name) ?? nowMs) > watch.sentMs) {
        watch.want(nowMs)
        return false
      }
    }
    return true
  }

  #sayDormant(dormant: readonly string[]): void {
    for (const name of dormant) {
      if (this.#dormant.has(name)) continue
      this.#core.note({
        level: 'info',
        code: 'dormant_inbox',
        message: 'an inbox with unread mail has read none of its mail yet',
        persona: name,
      })
    }
    this.#dormant = new Set(dormant)
  }
}

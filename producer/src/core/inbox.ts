import type { Persona } from '../journal/persona.js'
import type { PersonaCount } from '../source/answer.js'
import { healthy, type Liveness } from './liveness.js'
import type { PollResult, PollUnderWay } from './poll.js'
import type { UnreadWalk } from './unread-walk.js'

/** How an inbox came to be watched. */
export interface InboxPlace {
  readonly rank: number
  readonly nowMs: number
  readonly isFromStart: boolean
  readonly isAdded: boolean
  /** The newest record when this process began. */
  readonly startSeq: number
}

/** What this process knows of a watched inbox besides the journal: its schedule, its polls, its failures. */
export class Inbox {
  readonly name: string
  readonly persona: Persona
  readonly #startSeq: number
  /** Its place in the order in which inboxes came in. */
  readonly rank: number
  liveness: Liveness = healthy
  /** Monotonic time of the next poll. */
  dueMs: number
  /**
   * Its count rose, the token changed or somebody poked: it goes before those that are only due. A poll that was
   * sent before does not settle it, so it is taken back when one begins and may be set again while that is under way.
   */
  isUrgent = false
  /** It is due by then at the latest. Taken back when a poll begins, and may be set again while that is under way. */
  #byMs = Number.POSITIVE_INFINITY
  poll: PollUnderWay | undefined
  /** When the last poll began, and when it asked its last page. */
  startedMs = 0
  askedMs = 0
  /** A poll that came in and is not wholly in the journal yet. */
  result: PollResult | undefined
  lastPollMs: number | undefined
  lastHealthyMs: number | undefined
  lastStatus: number | undefined
  /** Polls that ended. */
  polls = 0
  /** The first poll after arming lies at the inbox's own phase. */
  isPhased = false
  /** What the last answer counted. */
  countSeen: PersonaCount | undefined
  /** When the last healthy poll began, if it showed unread mail that its owner did not write; local dialect only. */
  showedUnreadMs: number | undefined
  /** The poll under way is one for its own sake, not for a rise. */
  isResync = false
  /** Known from the start of this process, from the journal, a list or the first directory. */
  readonly isFromStart: boolean
  /** It was first met after the registry was announced for all: `persona_added` comes first (KS-33). */
  readonly isAdded: boolean
  /** Messages that the counts or a walk over unread rows say were read. */
  reads: readonly number[] = []
  /** A walk over unread rows, wanted after a resync or under way (KS-58). */
  unreadWalk: UnreadWalk | undefined
  /** The last page asked for that walk: an answer to an earlier one belongs to a walk that is over. */
  unreadAskId: number | undefined

  constructor(persona: Persona, place: InboxPlace) {
    this.name = persona.name
    this.persona = persona
    this.#startSeq = place.startSeq
    this.rank = place.rank
    this.dueMs = place.nowMs
    this.isFromStart = place.isFromStart
    this.isAdded = place.isAdded
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
    this.startedMs = nowMs
    this.isUrgent = false
    this.#byMs = Number.POSITIVE_INFINITY
  }

  /** A poll ended, and this is when the next one would be; what was learnt after it was sent is not in it. */
  rest(dueMs: number, nowMs: number): void {
    this.dueMs = Math.min(dueMs, this.#byMs)
    if (this.isUrgent) this.want(nowMs)
  }
}

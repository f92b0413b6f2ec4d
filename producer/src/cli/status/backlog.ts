import { isCount, isJsonObject, type JsonObject } from '@kim/manifest'

/** What the server calls unread against what the journal holds unread, of one inbox. */
interface InboxBacklog {
  readonly persona: string
  readonly there: number
  readonly here: number
  /** Of those there, so many are not shown by the server and never came to the journal. */
  readonly hidden: number
}

/** What of an inbox is unread in the journal, and hidden from it. */
export interface UnreadHere {
  readonly here: number
  readonly hidden: number
}

/** What stands on the server and not in the journal. */
export interface Backlog {
  /**
   * `none`: the server counts no unread mail. `even`: it counts some, and in no inbox more than the journal has, which
   * need not be the same messages. `unknown`: no producer ever heard what the server counts.
   */
  readonly state: 'none' | 'even' | 'behind' | 'unknown'
  /** When the server's numbers were heard last, as far as that is known. */
  readonly as_of: string | null
  /** The inboxes of which the server has more unread that it shows. */
  readonly personas: readonly InboxBacklog[]
  /** Where the counts are even: each inbox with unread mail was polled then or later, and what it showed is recorded. */
  readonly polled_since: string | null
  /** Unread mail of all inboxes that the server does not show, and that nobody can poll. */
  readonly hidden: number
}

/** Compares what a producer last heard of the server with what the journal has. */
export function backlogOf(told: JsonObject, unreadHere: (persona: string) => UnreadHere): Backlog {
  const inboxes = Array.isArray(told['personas']) ? told['personas'].filter(isJsonObject) : []
  const known = inboxes.flatMap(({ persona, unread }) =>
    typeof persona === 'string' && isCount(unread)
      ? [{ persona, there: unread, ...unreadHere(persona) }]
      : [],
  )
  const personas = known.filter(({ there, here, hidden }) => there > here + hidden)
  const unreadThere = inboxes.filter(({ unread }) => isCount(unread) && unread > 0)
  const state = stateOf(known.length, personas.length, unreadThere.length)
  const asOf = typeof told['updated'] === 'string' ? told['updated'] : null
  const hidden = known.reduce((sum, inbox) => sum + inbox.hidden, 0)
  const polledSince = state === 'even' ? earliestPoll(unreadThere) : null
  return { state, as_of: state === 'unknown' ? null : asOf, personas, polled_since: polledSince, hidden }
}

function stateOf(known: number, behind: number, unreadThere: number): Backlog['state'] {
  if (known === 0) return 'unknown'
  if (behind > 0) return 'behind'
  // Equal counts are no proof: as many messages may have come as were read.
  return unreadThere > 0 ? 'even' : 'none'
}

/** The earliest of their last healthy polls; null where one was never polled. */
function earliestPoll(inboxes: readonly JsonObject[]): string | null {
  const times = inboxes.map(({ last_healthy }) => (typeof last_healthy === 'string' ? last_healthy : ''))
  // ISO times of one zone sort as text.
  return times.sort()[0] || null
}

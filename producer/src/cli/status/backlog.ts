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
  /** `unknown`: no producer ever heard what the server counts. */
  readonly state: 'none' | 'behind' | 'unknown'
  /** When the server's numbers were heard last, as far as that is known. */
  readonly as_of: string | null
  /** The inboxes of which the server has more unread that it shows. */
  readonly personas: readonly InboxBacklog[]
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
  const state = known.length === 0 ? 'unknown' : personas.length === 0 ? 'none' : 'behind'
  const asOf = typeof told['updated'] === 'string' ? told['updated'] : null
  const hidden = known.reduce((sum, inbox) => sum + inbox.hidden, 0)
  return { state, as_of: state === 'unknown' ? null : asOf, personas, hidden }
}

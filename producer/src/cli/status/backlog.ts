import { isCount, isJsonObject, type JsonObject } from '@kim/manifest'

/** What the server calls unread against what the journal holds unread, of one inbox. */
interface InboxBacklog {
  readonly persona: string
  readonly there: number
  readonly here: number
}

/** What stands on the server and not in the journal. */
export interface Backlog {
  /** `unknown`: no producer ever heard what the server counts. */
  readonly state: 'none' | 'behind' | 'unknown'
  /** When the server's numbers were heard last, as far as that is known. */
  readonly as_of: string | null
  /** The inboxes of which the server has more unread. */
  readonly personas: readonly InboxBacklog[]
}

/** Compares what a producer last heard of the server with what the journal has. */
export function backlogOf(told: JsonObject, unreadHere: (persona: string) => number): Backlog {
  const inboxes = Array.isArray(told['personas']) ? told['personas'].filter(isJsonObject) : []
  const known = inboxes.flatMap(({ persona, unread }) =>
    typeof persona === 'string' && isCount(unread)
      ? [{ persona, there: unread, here: unreadHere(persona) }]
      : [],
  )
  const personas = known.filter(({ there, here }) => there > here)
  const state = known.length === 0 ? 'unknown' : personas.length === 0 ? 'none' : 'behind'
  const asOf = typeof told['updated'] === 'string' ? told['updated'] : null
  return { state, as_of: state === 'unknown' ? null : asOf, personas }
}

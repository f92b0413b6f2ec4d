import { isCount, isJsonObject, type JsonObject } from '@kim/manifest'
import type { Observer } from '@kim/observer-sdk'
import { parseMessageId } from '../../journal/persona.js'

/** The unread messages of an inbox, by the server and by the journal. */
interface InboxBacklog {
  readonly persona: string
  /** Unread by the count of the server. */
  readonly there: number
  /** Unread in the journal. */
  readonly here: number
  /** The server counts them, does not show them, and the journal never had them. */
  readonly hidden: number
  /** Redacted messages that may be among the rest: the journal no longer has whether they were read. */
  readonly redacted: number
}

/** Unread mail that the server has and the journal lacks. */
export interface Backlog {
  /**
   * `none`: the server counts no unread mail. `even`: no inbox has more unread mail at the server than in the journal,
   * but these need not be the same messages. `unknown`: no producer ever got the counts of the server.
   */
  readonly state: 'none' | 'even' | 'behind' | 'unknown'
  /** The time of the server's counts, if known. */
  readonly as_of: string | null
  /** The inboxes of which the server has more unread mail that it shows. */
  readonly personas: readonly InboxBacklog[]
  /** If the counts are even: each inbox with unread mail was polled at this time or later. */
  readonly polled_since: string | null
  /** Unread mail of all inboxes that the server does not show, so no producer can poll it. */
  readonly hidden: number
}

/** Compares the last counts of the server with the journal. `health` is what a producer last said. */
export function backlogOf(health: JsonObject, observer: Observer): Backlog {
  const inboxes = Array.isArray(health['personas']) ? health['personas'].filter(isJsonObject) : []
  const counts = inboxes.flatMap(({ persona, unread }): [string, number][] =>
    typeof persona === 'string' && isCount(unread) ? [[persona, unread]] : [],
  )
  const known = unreadMail(observer, counts)
  const personas = known.filter(isBehind)
  const unreadThere = inboxes.filter(({ unread }) => isCount(unread) && unread > 0)
  const state = stateOf(known.length, personas.length, unreadThere.length)
  const asOf = typeof health['updated'] === 'string' ? health['updated'] : null
  const hidden = known.reduce((sum, inbox) => sum + inbox.hidden, 0)
  const polledSince = state === 'even' ? earliestPoll(unreadThere) : null
  return { state, as_of: state === 'unknown' ? null : asOf, personas, polled_since: polledSince, hidden }
}

function stateOf(known: number, behind: number, unreadThere: number): Backlog['state'] {
  if (known === 0) return 'unknown'
  if (behind > 0) return 'behind'
  // Equal counts prove nothing: new messages may have replaced read ones.
  return unreadThere > 0 ? 'even' : 'none'
}

/** Compares the server's count of unread mail with the journal, for each of these inboxes. */
export function unreadMail(
  observer: Observer,
  counts: readonly (readonly [persona: string, there: number])[],
): InboxBacklog[] {
  const inboxes = counts.map(([persona, there]) => {
    const here = observer.persona(persona).unread
    return { persona, there, here, ...statedHidden(observer, persona), older: 0, erased: 0 }
  })
  // All messages are read, but once for all inboxes, and only if they can explain a difference.
  const unclear = inboxes.filter(({ there, here, floor }) => there > here || floor !== undefined)
  if (unclear.length > 0) countMessages(observer, new Map(unclear.map(inbox => [inbox.persona, inbox])))
  return inboxes.map(({ persona, there, here, stated, older, erased }) => {
    const hidden = Math.max(0, stated - older)
    const rest = Math.max(0, there - here - hidden)
    return { persona, there, here, hidden, redacted: Math.min(rest, erased) }
  })
}

/** True if the server has unread mail that the journal lacks. */
export function isBehind({ there, here, hidden, redacted }: InboxBacklog): boolean {
  return there > here + hidden + redacted
}

/** The earliest of their last healthy polls; null if one was never polled. */
function earliestPoll(inboxes: readonly JsonObject[]): string | null {
  const times = inboxes.map(({ last_healthy }) => (typeof last_healthy === 'string' ? last_healthy : ''))
  // ISO times of one zone sort as text.
  return times.sort()[0] || null
}

/**
 * The unread messages of an inbox that the server counts but does not show (KS-62), as its alert states them, and the
 * window of that alert. Unread messages of the journal below this window were shown before, so they do not count.
 */
function statedHidden({ state }: Observer, persona: string): { stated: number; floor: number | undefined } {
  const alert = state.get('alert', `${persona}/unread-not-shown`)?.payload as JsonObject | undefined
  const { status, unread_not_shown: hidden, window_floor: floor } = alert ?? {}
  if (status !== 'open' || !isCount(hidden)) return { stated: 0, floor: undefined }
  return { stated: hidden, floor: isCount(floor) ? floor : undefined }
}

/** Counts the redacted messages of these inboxes, and the unread ones below the window of an alert. */
function countMessages(
  { state }: Observer,
  inboxes: ReadonlyMap<string, { readonly floor: number | undefined; older: number; erased: number }>,
): void {
  for (const { itemId, payload } of state.values('message')) {
    const message = (payload ?? {}) as JsonObject
    const erased = 'redacted' in message ? inboxes.get(parseMessageId(itemId)?.persona ?? '') : undefined
    if (erased !== undefined) erased.erased++
    const { persona, read, id } = message
    const unread = read === true ? undefined : inboxes.get(String(persona))
    if (unread?.floor !== undefined && Number(id) < unread.floor) unread.older++
  }
}

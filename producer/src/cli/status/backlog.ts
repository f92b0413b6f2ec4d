import { isCount, isJsonObject, type JsonObject } from '@kim/manifest'
import type { Observer } from '@kim/observer-sdk'
import { parseMessageId } from '../../journal/message-index.js'

/** The unread messages of an inbox, by the server and by the journal. */
interface UnreadMail {
  /** Unread by the count of the server. */
  readonly there: number
  /** Unread in the journal. */
  readonly here: number
  /** The server counts them, does not show them, and the journal never had them. */
  readonly hidden: number
  /** Redacted messages that may be among the rest: the journal no longer has whether they were read. */
  readonly redacted: number
}

interface InboxBacklog extends UnreadMail {
  readonly persona: string
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
  const known = inboxes.flatMap(({ persona, unread }) =>
    typeof persona === 'string' && isCount(unread)
      ? [{ persona, ...unreadMail(observer, persona, unread) }]
      : [],
  )
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

/** Counts the unread mail of an inbox in the journal, beside the count of the server. */
export function unreadMail(observer: Observer, persona: string, there: number): UnreadMail {
  const here = observer.persona(persona).unread
  const hidden = hiddenUnread(observer, persona)
  const rest = Math.max(0, there - here - hidden)
  return { there, here, hidden, redacted: rest === 0 ? 0 : Math.min(rest, redactedMail(observer, persona)) }
}

/** True if the server has unread mail that the journal lacks. */
export function isBehind({ there, here, hidden, redacted }: UnreadMail): boolean {
  return there > here + hidden + redacted
}

function redactedMail({ state }: Observer, persona: string): number {
  const isRedacted = (payload: object | undefined): boolean => payload !== undefined && 'redacted' in payload
  const own = [...state.values('message')].filter(({ itemId }) => parseMessageId(itemId)?.persona === persona)
  return own.filter(({ payload }) => isRedacted(payload)).length
}

/** The earliest of their last healthy polls; null if one was never polled. */
function earliestPoll(inboxes: readonly JsonObject[]): string | null {
  const times = inboxes.map(({ last_healthy }) => (typeof last_healthy === 'string' ? last_healthy : ''))
  // ISO times of one zone sort as text.
  return times.sort()[0] || null
}

/**
 * The unread messages of an inbox that the server counts but does not show, and that the journal never had (KS-62).
 * Unread messages of the journal below the window of the alert were shown before, so they do not count.
 */
function hiddenUnread({ state }: Observer, persona: string): number {
  const alert = state.get('alert', `${persona}/unread-not-shown`)?.payload as JsonObject | undefined
  const { status, unread_not_shown: hidden, window_floor: floor } = alert ?? {}
  if (status !== 'open' || !isCount(hidden)) return 0
  if (!isCount(floor)) return hidden
  const isHere = (payload: JsonObject): boolean =>
    payload['persona'] === persona && payload['read'] !== true && Number(payload['id']) < floor
  const here = [...state.values('message')].filter(({ payload }) => isHere((payload ?? {}) as JsonObject))
  return Math.max(0, hidden - here.length)
}

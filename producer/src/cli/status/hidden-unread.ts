import { isCount, type JsonObject } from '@kim/manifest'
import type { Observer } from '@kim/observer-sdk'

/**
 * How much of what the server calls unread it does not show, and the journal never had: nobody can poll that, so it is
 * no backlog (KS-62). What lies below the window that said so, and stands here unread, was shown before.
 */
export function hiddenUnread({ state }: Observer, persona: string): number {
  const alert = state.get('alert', `${persona}/unread-not-shown`)?.payload as JsonObject | undefined
  const { status, unread_not_shown: hidden, window_floor: floor } = alert ?? {}
  if (status !== 'open' || !isCount(hidden)) return 0
  if (!isCount(floor)) return hidden
  const isHere = (payload: JsonObject): boolean =>
    payload['persona'] === persona && payload['read'] !== true && Number(payload['id']) < floor
  const here = [...state.values('message')].filter(({ payload }) => isHere((payload ?? {}) as JsonObject))
  return Math.max(0, hidden - here.length)
}

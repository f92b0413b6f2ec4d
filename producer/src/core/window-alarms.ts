import type { AlertKind } from '@kim/manifest'
import type { Draft } from '../journal/draft.js'
import type { Persona } from '../journal/persona.js'
import { alertDraft } from './drafts.js'
import type { PlanContext } from './plan-context.js'
import type { HealthyPoll } from './poll.js'

/** Alarms that the newest page of an inbox opens (step 9 of KS-46). */
export function* windowAlarmsOpened(
  persona: Persona,
  poll: HealthyPoll,
  context: PlanContext,
): Generator<Draft> {
  yield* unreadNotShown(persona, poll, context)
  yield* idRegressed(persona, poll)
}

/** KS-62: unread mail that the newest page does not show. The pages of a walk are never asked for it. */
function* unreadNotShown(persona: Persona, poll: HealthyPoll, context: PlanContext): Generator<Draft> {
  const { window, watermark } = poll
  const { unreadNotShown: hidden } = window
  if (hidden === undefined || hidden === 0) return
  if (persona.openAlert('unread-not-shown') !== undefined || context.isUnlisted(persona.name)) return
  const floor = window.rows[0]?.id
  yield alertDraft(persona.name, 'unread-not-shown', {
    isNew: !persona.alerts.has('unread-not-shown'),
    status: 'open',
    reason: `unread-not-shown: ${hidden} unread messages are not on the newest page`,
    members: {
      unread_not_shown: hidden,
      window_floor: floor ?? null,
      cursor_at: watermark,
      above_watermark: floor === undefined ? null : floor > watermark,
    },
    event: 'alert',
  })
}

/**
 * KS-39: ids that come back lower than what stands, be it all of them or some beside the highest: what they bring
 * never comes in, as a journal's ids ascend.
 */
function* idRegressed(persona: Persona, poll: HealthyPoll): Generator<Draft> {
  const { window, watermark, wasArmed } = poll
  const highest = window.rows.at(-1)?.id
  if (!wasArmed || highest === undefined) return
  if (persona.openAlert('id-regressed') !== undefined) return
  const lower = lowerIds(persona, poll)
  if (highest >= watermark && lower.length === 0) return
  const shown =
    highest < watermark
      ? `the highest id shown is ${highest}`
      : `shown and not in the journal: ${lower.length} up to ${lower.at(-1)}`
  yield alertDraft(persona.name, 'id-regressed', {
    isNew: !persona.alerts.has('id-regressed'),
    status: 'open',
    reason: `id-regressed: ${shown}, and ${watermark} was seen before`,
    members: { current_max: highest, cursor_at: watermark },
    event: 'alert',
  })
}

/** Ids of the newest page that are not above what is known, and that the journal never had; ascending. */
function lowerIds(persona: Persona, { window, reach }: HealthyPoll): readonly number[] {
  // What lies below the floor was there before this inbox was watched.
  const floor = persona.record?.floor ?? 0
  const ids = window.rows.map(({ id }) => id)
  return ids.filter(id => id >= floor && id <= reach && !persona.hasHad(id))
}

/** Alarms that the newest page of an inbox ends (step 10 of KS-46). */
export function* windowAlarmsCleared(persona: Persona, poll: HealthyPoll): Generator<Draft> {
  const { window, watermark } = poll
  const highest = window.rows.at(-1)?.id
  if (isJustifiedZero(window)) yield* cleared(persona, 'unread-not-shown')
  if (highest !== undefined && highest >= watermark && lowerIds(persona, poll).length === 0) {
    yield* cleared(persona, 'id-regressed')
  }
}

/** A zero counts if it was worked out, or if nothing is withheld that could hide anything. */
function isJustifiedZero({
  unreadNotShown,
  continuation,
  omitted,
  isContradictory,
}: HealthyPoll['window']): boolean {
  if (unreadNotShown !== 0 || isContradictory) return false
  return continuation.kind === 'more' || omitted === 0
}

function* cleared(persona: Persona, kind: AlertKind): Generator<Draft> {
  const payload = persona.openAlert(kind)
  if (payload === undefined) return
  const { schema_version: _v, persona: _p, kind: _k, status: _s, reason, ...members } = payload
  yield alertDraft(persona.name, kind, {
    isNew: false,
    status: 'cleared',
    reason: typeof reason === 'string' ? reason : kind,
    members,
  })
}

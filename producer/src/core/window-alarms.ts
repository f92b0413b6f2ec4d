import type { Draft } from '../journal/draft.js'
import { openAlert } from './alert-kind.js'
import { alertDraft } from './drafts.js'
import type { Persona } from './persona.js'
import type { HealthyPoll } from './poll.js'
import type { Rules } from './rules.js'

/** Alarms that the newest page of an inbox opens (step 9 of KS-46). */
export function* windowAlarmsOpened(persona: Persona, poll: HealthyPoll, rules: Rules): Generator<Draft> {
  yield* unreadNotShown(persona, poll, rules)
  yield* idRegressed(persona, poll)
}

/** KS-62: unread mail that the newest page does not show. The pages of a walk are never asked for it. */
function* unreadNotShown(persona: Persona, poll: HealthyPoll, rules: Rules): Generator<Draft> {
  const { window, watermark } = poll
  const { unreadNotShown: hidden } = window
  if (hidden === undefined || hidden === 0) return
  if (openAlert(persona.alerts, 'unread-not-shown') !== undefined || rules.isUnlisted(persona.name)) return
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

/** KS-39: ids that come back lower than what stands. */
function* idRegressed(persona: Persona, { window, watermark, wasArmed }: HealthyPoll): Generator<Draft> {
  const highest = window.rows.at(-1)?.id
  if (!wasArmed || highest === undefined || highest >= watermark) return
  if (openAlert(persona.alerts, 'id-regressed') !== undefined) return
  yield alertDraft(persona.name, 'id-regressed', {
    isNew: !persona.alerts.has('id-regressed'),
    status: 'open',
    reason: `id-regressed: the highest id shown is ${highest}, and ${watermark} was seen before`,
    members: { current_max: highest, cursor_at: watermark },
    event: 'alert',
  })
}

/** Alarms that the newest page of an inbox ends (step 10 of KS-46). */
export function* windowAlarmsCleared(persona: Persona, { window, watermark }: HealthyPoll): Generator<Draft> {
  const highest = window.rows.at(-1)?.id
  if (isJustifiedZero(window)) yield* cleared(persona, 'unread-not-shown')
  if (highest !== undefined && highest >= watermark) yield* cleared(persona, 'id-regressed')
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

function* cleared(persona: Persona, kind: 'unread-not-shown' | 'id-regressed'): Generator<Draft> {
  const payload = openAlert(persona.alerts, kind)
  if (payload === undefined) return
  const { schema_version: _v, persona: _p, kind: _k, status: _s, reason, ...members } = payload
  yield alertDraft(persona.name, kind, {
    isNew: false,
    status: 'cleared',
    reason: typeof reason === 'string' ? reason : kind,
    members,
  })
}

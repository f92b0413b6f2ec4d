import type { Draft } from '../journal/draft.js'
import type { Persona } from '../journal/persona.js'
import { alertDraft, personaDraft } from './drafts.js'
import { goesDown, type Liveness, secondsOf } from './liveness.js'
import type { FailedPoll } from './poll.js'

/** What a failed poll records: nothing, unless it takes the inbox down (KS-49). */
export function* failedPlan(
  persona: Persona,
  { failure }: FailedPoll,
  liveness: Liveness,
  terms: { readonly alertAfter: number; readonly nowMs: number },
): Generator<Draft> {
  const { name, record, isDown } = persona
  const goes = goesDown(liveness, isDown, terms.alertAfter)
  if (!goes && !isDown) return
  if (goes) {
    yield alertDraft(name, 'unreachable', {
      isNew: !persona.alerts.has('unreachable'),
      status: 'open',
      reason: failure.reason,
      members: { consecutive_failures: liveness.failures, seconds: secondsOf(liveness, terms.nowMs) },
      event: 'alert',
    })
  }
  if (record === undefined || record.state === 'down') return
  const down = { ...record, state: 'down', cursor: persona.cursor } as const
  yield personaDraft(name, down, { isNew: false, summary: `${name} is down` })
}

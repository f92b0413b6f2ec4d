import { alertFacts } from '@kim/manifest'
import { type Check, fine, unseen } from '../check.js'

/** What the journal itself says is wrong with inboxes. */
export const inboxesCheck: Check = {
  id: 'inboxes',
  about: 'no inbox has an open alert',
  look: async context => {
    const observer = await context.observer()
    if (observer === undefined) return unseen('there is no store')
    const open = [...observer.state.values('alert')].flatMap(({ payload }) =>
      payload !== undefined && 'status' in payload && payload['status'] === 'open' ? [payload] : [],
    )
    // An inbox that does not answer comes first: what the others say may be long known, and is mended elsewhere.
    const down = open.find(payload => alertFacts(payload).is_outage)
    const first = down ?? open[0]
    if (first === undefined) return fine('no alert is open')
    const more = open.length > 1 ? `, and ${open.length - 1} more` : ''
    return {
      status: 'warn',
      evidence: `${String(first['persona'])}: ${String(first['reason'])}${more}`,
      remedy:
        down !== undefined
          ? `correct what it names, then poll now: ${context.command('kim-producer poke')}; otherwise the producer retries later by itself`
          : `see the alerts: ${context.command('kim-tail status')}`,
    }
  },
}

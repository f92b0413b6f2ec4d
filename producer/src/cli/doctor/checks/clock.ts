import { type Check, fine, unseen } from '../check.js'

/** Two machines' clocks may differ by this much before ages mean nothing. */
const SKEW_MS_MAX = 60_000

/** Ages and latencies compare this clock with the server's. */
export const clockCheck: Check = {
  id: 'clock',
  about: "this machine's clock agrees with the records",
  look: async context => {
    const observer = await context.observer()
    if (observer === undefined) return unseen('there is no store')
    const ahead = [...observer.state.values('message')].reduce((most, { ts, payload }) => {
      const created = payload !== undefined && 'created' in payload ? payload['created'] : undefined
      const skew = Date.parse(String(created)) - Date.parse(ts ?? '')
      return Number.isNaN(skew) ? most : Math.max(most, skew)
    }, Number.NEGATIVE_INFINITY)
    if (ahead === Number.NEGATIVE_INFINITY) return unseen('no message has both times')
    if (ahead <= SKEW_MS_MAX) return fine('no message was received before it was created')
    return {
      status: 'warn',
      evidence: `a message was received ${Math.round(ahead / 1000)} s before it was created, by the two clocks`,
      remedy: 'synchronize the clock: timedatectl set-ntp true',
    }
  },
}

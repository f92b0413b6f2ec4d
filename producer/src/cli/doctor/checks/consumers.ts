import { shellWord } from '@kim/cli-kit'
import { consumersOf } from '@kim/observer-sdk/consumers'
import { type Check, fine, unseen } from '../check.js'

/** So far behind, a consumer is not slow: nobody runs it. */
const BEHIND_MAX = 10_000

/** Named consumers keep their place; one that was forgotten keeps it for ever. */
export const consumersCheck: Check = {
  id: 'consumers',
  about: 'no named consumer is far behind',
  look: async context => {
    const observer = await context.observer()
    if (observer === undefined) return unseen('there is no store')
    const { projectId, head } = observer
    const all = consumersOf({ env: context.env, projectId, headSeq: head.seq })
    const late = all.filter(({ behind }) => behind === null || behind > BEHIND_MAX)
    const [first] = late
    if (first === undefined) return fine(`consumers: ${all.length}`)
    return {
      status: 'warn',
      evidence: late
        .map(({ consumer, behind }) =>
          behind === null ? `${consumer}: its file is damaged` : `${consumer} is ${behind} records behind`,
        )
        .join('; '),
      remedy: `start it again, or delete its cursor: rm ${shellWord(first.file)}`,
    }
  },
}

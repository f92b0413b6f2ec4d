import { limits, seqRoom } from '@kim/manifest'
import { type Check, fine, unseen } from '../check.js'

/** The numbers of a store end some day. */
export const seqRoomCheck: Check = {
  id: 'numbers',
  about: 'there are sequence numbers left for records',
  look: async context => {
    const head = (await context.observer())?.head.seq
    if (head === undefined) return unseen('there is no store')
    const evidence = `${head} of ${limits.seqMax} are used`
    if (seqRoom(head) === 'plenty') return fine(evidence)
    return {
      status: 'warn',
      evidence,
      remedy: 'plan a new generation of the store; spec/compatibility.md describes the steps',
    }
  },
}

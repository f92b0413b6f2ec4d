import { formatDuration } from '@kim/cli-kit'
import { type Check, fine } from '../check.js'

/** Somebody has to be at work. */
export const producer: Check = {
  id: 'producer',
  about: 'a producer is at work',
  look: context => {
    const { state, pid, ageMs, health } = context.sign()
    const start = `start it: ${context.starting('kim-producer run')}, or ${context.starting('kim-producer install-service')}`
    if (state === 'never')
      return { status: 'warn', evidence: 'no producer ever ran on this store', remedy: start }
    if (state === 'unknown') {
      const evidence = 'none holds the store, and run/health.json, which the last one left, cannot be read'
      return { status: 'warn', evidence, remedy: start }
    }
    if (state === 'stopped') {
      const reason = typeof health['reason'] === 'string' ? `: ${health['reason']}` : ''
      return { status: 'warn', evidence: `it was stopped${reason}`, remedy: start }
    }
    if (state === 'gone') {
      return {
        status: 'fail',
        evidence: 'it ended without a word; nothing that was acknowledged is lost',
        remedy: `look at its log, then ${start}`,
      }
    }
    const seen = ageMs === undefined ? 'no sign yet' : `last sign ${formatDuration(ageMs)} ago`
    if (state === 'hung') {
      return {
        status: 'fail',
        evidence: `pid ${pid} holds the store, but its ${seen}: it hangs, or is suspended`,
        remedy: `if it is not meant to be: kill -CONT ${pid}, or kill -9 ${pid} (nothing is lost), then ${start}`,
      }
    }
    if (health['disk'] === 'full') {
      return {
        status: 'fail',
        evidence: `pid ${pid} cannot append: the disk is full`,
        remedy: 'free some space',
      }
    }
    return fine(`pid ${pid}, ${seen}`)
  },
}

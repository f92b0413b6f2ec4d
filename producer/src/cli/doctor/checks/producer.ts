import { formatDuration } from '@kim/cli-kit'
import { type Check, fine } from '../check.js'

/** Somebody has to be at work. */
export const producerCheck: Check = {
  id: 'producer',
  about: 'a producer runs',
  look: context => {
    const { state, pid, ageMs, health } = context.sign()
    const start = `start it: ${context.starting('kim-producer run')}, or ${context.starting('kim-producer install-service')}`
    if (state === 'never')
      return { status: 'warn', evidence: 'no producer has run on this store yet', remedy: start }
    if (state === 'unknown') {
      const evidence = 'no producer holds the store, and run/health.json of the last one cannot be read'
      return { status: 'warn', evidence, remedy: start }
    }
    if (state === 'stopped') {
      const reason = typeof health['reason'] === 'string' ? `: ${health['reason']}` : ''
      return { status: 'warn', evidence: `the producer was stopped${reason}`, remedy: start }
    }
    if (state === 'gone') {
      return {
        status: 'fail',
        evidence: 'the producer ended without a clean stop; no acknowledged record is lost',
        remedy: `read its log, then ${start}`,
      }
    }
    const seen = ageMs === undefined ? 'no heartbeat yet' : `last heartbeat ${formatDuration(ageMs)} ago`
    if (state === 'hung') {
      return {
        status: 'fail',
        evidence: `pid ${pid} holds the store and does not respond (${seen}): it hangs or is suspended`,
        remedy: `resume it: kill -CONT ${pid}; or end it: kill -9 ${pid} (no acknowledged record is lost), then ${start}`,
      }
    }
    if (health['disk'] === 'full') {
      return {
        status: 'fail',
        evidence: `pid ${pid} cannot append: the disk is full`,
        remedy: 'free some disk space; appending then resumes by itself',
      }
    }
    return fine(`pid ${pid}, ${seen}`)
  },
}

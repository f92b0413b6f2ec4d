import { KimError } from '@kim/manifest'
import { remedyOf } from '../../../source/remedy.js'
import type { Source } from '../../../source/source.js'
import { type Check, fine, unseen } from '../check.js'

/** One look at the directory: nothing is marked as read by it. */
export const serverCheck: Check = {
  id: 'server',
  about: 'the server answers and accepts the token',
  look: async context => {
    let source: Source
    try {
      source = await context.source()
    } catch (error) {
      if (!(error instanceof KimError)) throw error
      const isOfToken = error.code === 'token_invalid' || error.code === 'not_permitted'
      if (isOfToken) return unseen('no request without a token')
      return { status: 'fail', evidence: error.message, remedy: error.hint }
    }
    const answer = await context.directory()
    const { base } = source
    if (!answer.ok) {
      const { reason } = answer.failure
      const remedy = remedyOf(reason, source) ?? 'read the log of the server'
      return { status: 'fail', evidence: `${base}: ${reason}`, remedy }
    }
    const ms = Math.round(answer.receivedMs - answer.sentMs)
    return fine(`${base} answered in ${ms} ms with ${answer.value.entries.length} personas`)
  },
}

import { KimError } from '@kim/manifest'
import type { Failure } from '../../../source/answer.js'
import { type Check, type Found, fine, unseen } from '../check.js'

const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [
    /^http 401/,
    'the token is refused: write a valid one into the token file; the producer reads it again by itself',
  ],
  [
    /^http 403/,
    'the server refuses this client: check the address, and --auth-header if the server wants its own',
  ],
  [/^http 404/, 'there is no Kijito at this address: check --url'],
  [/^redirect/, 'the address leads elsewhere: give --url the address that it leads to'],
  [/^unreachable/, 'start the server, or check --url'],
]

/** One look at the directory: nothing is marked as read by it. */
export const server: Check = {
  id: 'server',
  about: 'the server answers, and takes the token',
  look: async context => {
    let base: string
    try {
      base = (await context.source()).base
    } catch (error) {
      if (!(error instanceof KimError)) throw error
      const isOfToken = error.code === 'token_invalid' || error.code === 'not_permitted'
      if (isOfToken) return unseen('without a token nothing is asked')
      return { status: 'fail', evidence: error.message, remedy: error.hint }
    }
    const answer = await context.directory()
    if (!answer.ok) return failed(base, answer.failure)
    const ms = Math.round(answer.receivedMs - answer.sentMs)
    return fine(`${base} answered in ${ms} ms with ${answer.value.entries.length} personas`)
  },
}

function failed(base: string, { reason }: Failure): Found {
  const remedy = REMEDIES.find(([pattern]) => pattern.test(reason))?.[1]
  return { status: 'fail', evidence: `${base}: ${reason}`, remedy: remedy ?? 'look at the log of the server' }
}

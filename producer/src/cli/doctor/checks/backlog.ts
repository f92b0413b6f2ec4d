import { KimError } from '@kim/manifest'
import { hiddenUnread } from '../../status/hidden-unread.js'
import { type Check, fine, unseen } from '../check.js'
import type { Context } from '../context.js'

/** Does what the server calls unread stand in the journal. */
export const backlog: Check = {
  id: 'backlog',
  about: 'unread mail on the server is in the journal',
  look: async context => {
    const observer = await context.observer()
    if (observer === undefined) return unseen('there is no store')
    try {
      const source = await context.source()
      const answer = await source.counts({ waitSeconds: 0 }, context.signal)
      if (!answer.ok) return unseen(`the server returned no counts: ${answer.failure.reason}`)
      const known = [...observer.state.values('persona')].map(({ item_id }) => item_id)
      const short = known.flatMap(name => {
        const upstream = answer.value.byPersona.get(name)?.unread ?? 0
        const here = observer.persona(name).unread
        return upstream > here + hiddenUnread(observer, name)
          ? [`${name}: ${upstream} unread on the server, ${here} in the journal`]
          : []
      })
      const [first] = short
      if (first === undefined) return fine(`${known.length} inboxes compared`)
      const more = short.length > 1 ? `, and ${short.length - 1} more` : ''
      return {
        status: 'warn',
        evidence: `${first}${more}`,
        remedy: remedyOf(context),
      }
    } catch (error) {
      if (error instanceof KimError) return unseen('the server could not be reached')
      throw error
    }
  },
}

/** Only one that runs can be poked; what waits for the next one is counted by it, and may be told to nobody. */
function remedyOf(context: Context): string {
  const { state } = context.sign()
  if (state === 'running' || state === 'hung') {
    return `if this lasts more than a minute: ${context.command('kim-producer poke')}, then ${context.command('kim-producer status')}`
  }
  const { maxReplay } = context.options.core
  return `start it: ${context.starting('kim-producer run')}; if more than ${maxReplay} messages wait in an inbox, none is announced: add --max-replay N`
}

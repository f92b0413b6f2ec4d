import { formatCount } from '@kim/cli-kit'
import { isCount, isJsonObject, type JsonObject, KimError } from '@kim/manifest'
import type { Observer } from '@kim/observer-sdk'
import type { Source } from '../../../source/source.js'
import { hiddenUnread } from '../../status/hidden-unread.js'
import { type Check, type CheckResult, fine, unseen } from '../check.js'
import type { Context } from '../context.js'

/** So many inboxes are polled to compare their messages. */
const POLLED_MAX = 50

/** Equal counts may be of different messages, so the messages are compared as well. */
export const backlogCheck: Check = {
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
      if (first === undefined) {
        const unread = known.filter(name => (answer.value.byPersona.get(name)?.unread ?? 0) > 0)
        return await compareMessages(unread, observer, source, context)
      }
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

/** Polls the newest page of each inbox, and looks for its unread messages in the journal. Changes no read state. */
async function compareMessages(
  names: readonly string[],
  observer: Observer,
  source: Source,
  context: Context,
): Promise<CheckResult> {
  if (names.length === 0) return fine('the server counts no unread mail')
  const polled = names.slice(0, POLLED_MAX)
  for (const name of polled) {
    const page = await source.page({ persona: name }, context.signal)
    if (!page.ok) return unseen(`${name}: the inbox cannot be polled: ${page.failure.reason}`)
    const missing = page.value.rows.filter(({ id, read }) => !read && !hasHad(observer, name, id))
    const [first] = missing
    if (first === undefined) continue
    const more = missing.length > 1 ? `, and ${missing.length - 1} more` : ''
    return {
      status: 'warn',
      evidence: `${name}: message ${first.id} is unread at the server and not in the journal${more}`,
      remedy: remedyOf(context),
    }
  }
  const rest = names.length - polled.length
  return fine(
    `the journal has the unread messages that ${formatCount(polled.length, 'inbox', 'inboxes')} showed${rest > 0 ? `; ${rest} more were not polled` : ''}`,
  )
}

/** The journal has it, had it until retention took it, or it is older than the first contact (KS-28). */
function hasHad({ state }: Observer, persona: string, id: number): boolean {
  if (state.get('message', `${persona}/${id}`) !== undefined) return true
  const payload = state.get('persona', persona)?.payload
  const image: JsonObject = isJsonObject(payload) ? payload : {}
  const { floor, known_from: knownFrom } = image
  return id < Math.max(isCount(floor) ? floor : 0, isCount(knownFrom) ? knownFrom : 0)
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

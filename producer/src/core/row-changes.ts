import type { Draft } from '../journal/draft.js'
import { bodyHash, NO_BODY } from '../journal/message-index.js'
import type { Persona } from '../journal/persona.js'
import { codePoints, messageUpdate } from './drafts.js'
import type { PlanContext } from './plan-context.js'
import type { HealthyPoll } from './poll.js'

/**
 * What rows say about live messages: that they were read, or that their body is another (KS-43). A redacted message is
 * never updated, and no message becomes unread again.
 */
export function* rowChanges(persona: Persona, poll: HealthyPoll, context: PlanContext): Generator<Draft> {
  const { messages, name } = persona
  for (const { row, isClipped } of poll.rows) {
    if (!messages.has(row.id)) continue
    const becameRead = row.read && messages.isUnread(row.id)
    const known = messages.bodyOf(row.id)
    const compares = context.options.keepContent && !isClipped && known !== NO_BODY
    const body = compares ? bodyHash(row.content) : NO_BODY
    if (!becameRead && (!compares || known === body)) continue
    const stored = context.personas.messageOf(persona, row.id)
    if (stored === undefined) continue
    const isOther = compares && stored.body !== NO_BODY && stored.body !== body
    if (!becameRead && !isOther) continue
    const { payload } = stored
    if (payload['redacted'] === true) continue
    const length = isOther ? { content: row.content, content_length: codePoints(row.content) } : {}
    const read = payload['read'] === true || row.read
    const what = isOther ? 'its body is another' : 'it was read'
    yield messageUpdate(name, row.id, { ...payload, ...length, read }, what)
  }
}

/** What the counts or a walk over unread rows say: these were read. */
export function* readMarks(persona: Persona, ids: readonly number[], context: PlanContext): Generator<Draft> {
  for (const id of ids) {
    if (!persona.messages.isUnread(id)) continue
    const stored = context.personas.messageOf(persona, id)
    if (stored === undefined || stored.payload['redacted'] === true || stored.payload['read'] === true)
      continue
    yield messageUpdate(persona.name, id, { ...stored.payload, read: true }, 'it was read')
  }
}

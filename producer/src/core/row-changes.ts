import type { Draft } from '../journal/draft.js'
import { bodyHash, NO_BODY, UNSEEN_BODY } from './body-hash.js'
import { codePoints, messageUpdate } from './drafts.js'
import type { Persona } from './persona.js'
import type { PlanContext } from './plan-context.js'
import type { HealthyPoll } from './poll.js'

/**
 * What rows say about messages that stand: that they were read, or that their body is another (KS-43). Only a live
 * message is updated, a redacted one never, and nothing becomes unread again.
 */
export function* rowChanges(persona: Persona, poll: HealthyPoll, context: PlanContext): Generator<Draft> {
  const { index, name } = persona
  for (const { row, isClipped } of poll.rows) {
    if (!index.has(row.id)) continue
    const becameRead = row.read && index.isUnread(row.id)
    const known = index.bodyOf(row.id)
    const compares = context.options.keepContent && !isClipped && known !== NO_BODY
    const body = compares ? bodyHash(row.content) : NO_BODY
    if (!becameRead && (!compares || known === body)) continue
    const stored = context.messageOf(name, row.id)
    if (stored === undefined) {
      // Retention took it: whatever a row says of it is past.
      index.drop(row.id)
      continue
    }
    if (known === UNSEEN_BODY) index.setBody(row.id, stored.body)
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
  const { index, name } = persona
  for (const id of ids) {
    if (!index.isUnread(id)) continue
    const stored = context.messageOf(name, id)
    if (stored === undefined) {
      index.drop(id)
      continue
    }
    if (stored.payload['redacted'] === true || stored.payload['read'] === true) continue
    yield messageUpdate(name, id, { ...stored.payload, read: true }, 'it was read')
  }
}

/** The records that the core decides on, as drafts: of a message, of a persona, of an alert. */
import type { AlertKind, JsonObject } from '@kim/manifest'
import type { Draft } from '../journal/draft.js'
import { bodyHash, messageItemId, NO_BODY } from '../journal/message-index.js'
import { type Persona, type PersonaRecord, personaPayload } from '../journal/persona.js'
import type { Row } from '../source/source.js'
import type { CoreState } from './core-state.js'
import type { TakenRow } from './poll-pages.js'

/** Code points, as a person counts characters of a body. */
function codePoints(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length; at++) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) count--
  }
  return count
}

/** The payload of a message (KS-41, KS-42, KS-43). */
function messagePayload(persona: string, { row, isClipped }: TakenRow, keepContent: boolean): JsonObject {
  return {
    schema_version: 1,
    persona,
    id: row.id,
    from: row.from,
    ...(keepContent ? { content: row.content } : {}),
    content_length: codePoints(row.content),
    created: row.created,
    read: row.read,
    ...(isClipped ? { clipped: true } : {}),
  }
}

/** The record of a message that the journal never had; without an event no sink announces it. */
export function messageDraft(
  persona: string,
  taken: TakenRow,
  how: {
    readonly action: 'backfill' | 'create'
    readonly isNews: boolean
    readonly keepContent: boolean
    readonly waitMs: number
  },
): Draft {
  const { id, from } = taken.row
  return {
    agent: persona,
    action: how.action,
    item_type: 'message',
    item_id: messageItemId(persona, id),
    summary: `message ${id} from ${from ?? 'an unknown author'}`,
    payload: messagePayload(persona, taken, how.keepContent),
    event: how.isNews ? 'new' : undefined,
    wait_ms: how.waitMs,
  }
}

/** The record of a live message, with what changed about it. */
function messageUpdate(persona: string, id: number, payload: JsonObject, what: string): Draft {
  return {
    agent: persona,
    action: 'update',
    item_type: 'message',
    item_id: messageItemId(persona, id),
    summary: `message ${id}: ${what}`,
    payload,
  }
}

/**
 * What rows say about live messages: that they were read, or that their text changed (KS-43). A redacted message is
 * never updated, and no message becomes unread again.
 */
export function* rowChanges(
  { options, personas }: CoreState,
  persona: Persona,
  rows: readonly TakenRow[],
): Generator<Draft> {
  const { messages, name } = persona
  for (const { row, isClipped } of rows) {
    if (!messages.has(row.id)) continue
    const becameRead = row.read && messages.isUnread(row.id)
    const known = messages.bodyOf(row.id)
    const compares = options.keepContent && !isClipped && known !== NO_BODY
    const body = compares ? bodyHash(row.content) : NO_BODY
    if (!becameRead && (!compares || known === body)) continue
    const stored = personas.messageOf(persona, row.id)
    if (stored === undefined) continue
    const isOther = compares && stored.body !== NO_BODY && stored.body !== body
    const { payload } = stored
    if ((!becameRead && !isOther) || payload['redacted'] === true) continue
    yield messageUpdate(name, row.id, ...changeOf(payload, row, isOther))
  }
}

function changeOf(payload: JsonObject, row: Row, isOther: boolean): [JsonObject, string] {
  const read = payload['read'] === true || row.read
  if (!isOther) return [{ ...payload, read }, 'it was read']
  const { content } = row
  return [{ ...payload, content, content_length: codePoints(content), read }, 'its text changed']
}

/** These messages were read, as the counts or a walk over unread rows say. */
export function* readMarks(
  { personas }: CoreState,
  persona: Persona,
  ids: readonly number[],
): Generator<Draft> {
  for (const id of ids) {
    if (!persona.messages.isUnread(id)) continue
    const payload = personas.messageOf(persona, id)?.payload
    if (payload === undefined || payload['redacted'] === true || payload['read'] === true) continue
    yield messageUpdate(persona.name, id, { ...payload, read: true }, 'it was read')
  }
}

/** The record of a persona, with the event it announces, if any. */
export function personaDraft(
  persona: string,
  record: PersonaRecord,
  how: {
    readonly isNew: boolean
    readonly event?: string
    readonly numbers?: JsonObject
    readonly summary: string
  },
): Draft {
  return {
    agent: persona,
    action: how.isNew ? 'create' : 'update',
    item_type: 'persona',
    item_id: persona,
    summary: how.summary,
    payload: personaPayload(persona, record, how.numbers),
    event: how.event,
  }
}

/** The record of an alert. */
export function alertDraft(
  { alerts, name: persona }: Pick<Persona, 'name' | 'alerts'>,
  kind: AlertKind,
  what: {
    readonly status: 'open' | 'cleared'
    readonly reason: string
    readonly members?: JsonObject
    readonly event?: 'alert' | 'recovered' | undefined
  },
): Draft {
  const { status, reason, members, event } = what
  return {
    agent: persona,
    action: alerts.has(kind) ? 'update' : 'create',
    item_type: 'alert',
    item_id: `${persona}/${kind}`,
    summary: status === 'open' ? reason : `${kind}: ended`,
    payload: { ...members, schema_version: 1, persona, kind, status, reason },
    event,
  }
}

/** The record that clears an alert, if it is open: what it measured stays. */
export function* clearedAlert(persona: Persona, kind: AlertKind): Generator<Draft> {
  const payload = persona.openAlert(kind)
  if (payload === undefined) return
  const { schema_version: _v, persona: _p, kind: _k, status: _s, reason: was, ...members } = payload
  yield alertDraft(persona, kind, {
    status: 'cleared',
    reason: typeof was === 'string' ? was : kind,
    members,
  })
}

import type { AlertKind, JsonObject } from '@kim/manifest'
import type { Draft } from '../journal/draft.js'
import { messageItemId } from '../journal/message-index.js'
import { type PersonaRecord, personaPayload } from '../journal/persona.js'
import type { Row } from '../source/answer.js'

/** What the record of a message needs to know besides its row. */
export interface MessageContext {
  readonly persona: string
  readonly isClipped: boolean
  readonly keepContent: boolean
}

/** Code points, as a person counts characters of a body. */
export function codePoints(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length; at++) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) count--
  }
  return count
}

/** The payload of a message (KS-41, KS-42, KS-43). */
function messagePayload(row: Row, { persona, isClipped, keepContent }: MessageContext): JsonObject {
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

/** The record of a message that stands nowhere yet; without an event it wakes nobody. */
export function messageDraft(
  row: Row,
  context: MessageContext,
  how: { readonly action: 'backfill' | 'create'; readonly isNews: boolean; readonly waitMs: number },
): Draft {
  return {
    agent: context.persona,
    action: how.action,
    item_type: 'message',
    item_id: messageItemId(context.persona, row.id),
    summary: `message ${row.id} from ${row.from ?? 'an unknown author'}`,
    payload: messagePayload(row, context),
    event: how.isNews ? 'new' : undefined,
    wait_ms: how.waitMs,
  }
}

/** The record of a message that stands, with what changed about it. */
export function messageUpdate(persona: string, id: number, payload: JsonObject, what: string): Draft {
  return {
    agent: persona,
    action: 'update',
    item_type: 'message',
    item_id: messageItemId(persona, id),
    summary: `message ${id}: ${what}`,
    payload,
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

/** The record of an alarm as it now stands. */
export function alertDraft(
  persona: string,
  kind: AlertKind,
  how: {
    readonly isNew: boolean
    readonly status: 'open' | 'cleared'
    readonly reason: string
    readonly members?: JsonObject
    readonly event?: 'alert' | 'recovered' | undefined
  },
): Draft {
  return {
    agent: persona,
    action: how.isNew ? 'create' : 'update',
    item_type: 'alert',
    item_id: `${persona}/${kind}`,
    summary: how.status === 'open' ? how.reason : `${kind}: ended`,
    payload: {
      ...how.members,
      schema_version: 1,
      persona,
      kind,
      status: how.status,
      reason: how.reason,
    },
    event: how.event,
  }
}

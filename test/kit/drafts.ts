import type { JsonObject } from '@kim/manifest'
import type { Draft } from '@kim/producer/internal'

/** A message of argus to a persona, as the producer records it; `more` are members of its payload. */
export function mail(persona: string, id: number, more: JsonObject = {}): Draft {
  const { content = `body ${id}`, read = false } = more
  const facts = { schema_version: 1, persona, id, from: 'argus', content, read }
  const shown = { content_length: String(content).length, created: '2026-06-10T14:03:21Z' }
  return {
    agent: persona,
    action: read === true ? 'update' : 'create',
    item_type: 'message',
    item_id: `${persona}/${id}`,
    summary: `from argus: ${content}`,
    payload: { ...facts, ...shown, ...more },
    ...(read === true ? {} : { event: 'new' }),
  }
}

/** A persona that runs, as the producer records it; `more` are members of its payload. */
export function runningPersona(persona: string, more: JsonObject = {}): Draft {
  const payload = { schema_version: 1, persona, cursor: 0, floor: 0, state: 'up', watched: true, ...more }
  return {
    agent: persona,
    action: 'create',
    item_type: 'persona',
    item_id: persona,
    summary: persona,
    payload,
  }
}

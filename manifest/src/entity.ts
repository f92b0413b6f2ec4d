import type { JsonObject, PayloadRef, ReadRecord } from './envelope.js'

/** The newest image of an entity. */
export interface Entity {
  readonly item_type: string
  readonly item_id: string
  readonly agent?: string | undefined
  readonly entity_rev?: number | undefined
  readonly payload?: JsonObject | undefined
  readonly payload_ref?: PayloadRef | undefined
  readonly seq: number
  readonly ts?: string | undefined
}

/** Type and id of a removed entity, and its last known revision. */
export type Revision = readonly [itemType: string, itemId: string, entityRev: number]

/** The entity that a record upserts. */
export function upsertedEntity(record: ReadRecord): Entity {
  const { item_type, item_id = '', agent, entity_rev, payload, payload_ref, seq, ts } = record
  return { item_type, item_id, agent, entity_rev, payload, payload_ref, seq, ts }
}

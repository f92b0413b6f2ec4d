/** What one entity contributes to what is known of its persona. */
import { attentionOf, type Entity, isCount, type JsonObject } from '@kim/manifest'

/** One entity, reduced to what is counted. */
export interface EntityFacts {
  /** Whose it is, if it is anybody's. */
  readonly owner: string | undefined
  readonly kind: 'message' | 'alert' | 'persona' | 'other'
  readonly unread: boolean
  /** Number of a message. */
  readonly id: number
  /** An alert that is open. */
  readonly open: boolean
  /** How much attention it asks for. */
  readonly attention: number
}

/** What an entity with this payload contributes. */
export function entityFactsOf(entity: Entity, payload: JsonObject | undefined): EntityFacts {
  const { item_type, item_id } = entity
  const kind =
    item_type === 'message' || item_type === 'alert' || item_type === 'persona' ? item_type : 'other'
  return {
    owner: ownerOf(entity, payload),
    kind,
    unread: kind === 'message' && payload?.['read'] === false,
    id: kind === 'message' ? numberOf(item_id, payload) : 0,
    open: kind === 'alert' && payload?.['status'] === 'open',
    attention: attentionOf([{ item_type, payload }]),
  }
}

/** A name may itself hold a slash: where the payload states whose an item is, that decides. */
function ownerOf({ item_type, item_id, agent }: Entity, payload: JsonObject | undefined): string | undefined {
  if (item_type === 'persona') return item_id
  if (item_type === 'message' || item_type === 'alert') {
    const stated = payload?.['persona']
    if (typeof stated === 'string') return stated
    const slash = item_id.lastIndexOf('/')
    if (slash > 0) return item_id.slice(0, slash)
  }
  return agent
}

function numberOf(itemId: string, payload: JsonObject | undefined): number {
  const stated = payload?.['id']
  if (isCount(stated)) return stated
  return Number(/\/(\d+)$/.exec(itemId)?.[1] ?? 0)
}

/** What an expression can ask about: the state as it stands. */
import type { Entity, EntityTable, JsonObject } from '@kim/manifest'
import type { Payloads } from '../payloads.js'
import type { PersonaLedger } from '../persona-ledger.js'

/** The state, and where the reading stands. */
export interface PredicateScope {
  readonly entities: EntityTable<Entity>
  readonly ledger: PersonaLedger
  readonly payloads: Payloads
  readonly registryAuthoritative: boolean
  readonly damage: number
  /** The last record. */
  readonly seq: number | null
  readonly ts: string | null
}

/** What a path or a literal comes to; an object or a list is no value that can be compared. */
export type Value = string | number | boolean | null

/** The value at a path of a payload. */
export function valueIn(payload: JsonObject | undefined, path: readonly string[]): Value {
  let value: unknown = payload
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null
    value = (value as Record<string, unknown>)[name]
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null
}

/** A live entity. */
export function entityIn({ entities }: PredicateScope, type: string, id: string): Entity | undefined {
  return entities.get(type, id)
}

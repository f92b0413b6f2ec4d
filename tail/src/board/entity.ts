import type { JsonObject } from '@kim/manifest'

/** A live entity, as far as the boards of this command need it. */
export interface BoardEntity {
  readonly itemType: string
  readonly itemId: string
  readonly payload: JsonObject | undefined
}

/** A member that is a non-negative whole number. */
export function countMember(payload: JsonObject | undefined, name: string): number | undefined {
  const value = payload?.[name]
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

/** A member that is a text. */
export function textMember(payload: JsonObject | undefined, name: string): string | undefined {
  const value = payload?.[name]
  return typeof value === 'string' ? value : undefined
}

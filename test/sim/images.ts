import type { JsonObject } from '@kim/manifest'

/** An entity as the oracle knows it. */
export interface Image {
  readonly type: string
  readonly id: string
  readonly rev: number
  readonly payload: JsonObject
  /** False where the payload stands in a blob. */
  readonly inline: boolean
}

/** A map of entities needs no more than this here: no type in a simulation holds a space. */
export function nameOf(type: string, id: string): string {
  return `${type} ${id}`
}

import type { JsonObject } from '@kim/manifest'
import type { CoreOptions } from './core.js'

/** What a plan of records goes by besides the persona and its poll. */
export interface PlanContext {
  readonly options: CoreOptions
  readonly suppressed: ReadonlySet<string>
  /** The unread mail the counts give a persona now; `unknown` if there are none. */
  unreadOf(persona: string): number | 'unknown'
  /** True where all personas are watched and the directory does not list this one (KS-62). */
  isUnlisted(persona: string): boolean
  /** The newest image of a message that stands; undefined if it is not live any more. */
  messageOf(persona: string, id: number): StoredMessage | undefined
}

/** A live message as its record has it. */
export interface StoredMessage {
  readonly payload: JsonObject
  readonly body: number
}

import type { Personas } from '../journal/persona.js'
import type { CoreOptions } from './core.js'

/** What a plan of records goes by besides the persona and its poll. */
export interface PlanContext {
  readonly options: CoreOptions
  readonly suppressed: ReadonlySet<string>
  readonly personas: Personas
  /** The unread mail the counts give a persona now; `unknown` if there are none. */
  unreadOf(persona: string): number | 'unknown'
  /** True where all personas are watched and the directory does not list this one (KS-62). */
  isUnlisted(persona: string): boolean
}

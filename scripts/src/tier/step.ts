import type { Result } from './result.js'

/** A named piece of a tier. */
export interface TierStep {
  readonly name: string
  readonly run: () => Promise<Result>
}

import type { Context } from './context.js'

/** How bad it is; `unknown` where it could not be looked at. */
type CheckStatus = 'ok' | 'warn' | 'fail' | 'unknown'

/** What a check saw. */
export interface CheckResult {
  readonly status: CheckStatus
  /** What was seen, in one line. */
  readonly evidence: string
  /** What to do about it, exactly. */
  readonly remedy?: string | undefined
  /** Mends it, where that can do no harm; present only if there is something to mend. */
  readonly fix?: (() => void) | undefined
}

/** One thing that can be wrong. */
export interface Check {
  readonly id: string
  readonly about: string
  readonly look: (context: Context) => CheckResult | Promise<CheckResult>
}

/** Nothing is wrong. */
export function fine(evidence: string): CheckResult {
  return { status: 'ok', evidence }
}

/** It could not be looked at. */
export function unseen(evidence: string, remedy?: string): CheckResult {
  return { status: 'unknown', evidence, remedy }
}

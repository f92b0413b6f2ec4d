import { usageError } from '@kim/cli-kit'

/** What to do about an event whose command keeps failing. */
export type PoisonPolicy =
  /** Try on for ever; nothing behind it is delivered. */
  | { readonly kind: 'hold' }
  /** Pass it after so many tries, and say so. */
  | { readonly kind: 'skip'; readonly after: number }

/** The next step after a failed try. */
export type AfterFailure =
  | { readonly step: 'retry'; readonly delayMs: number; readonly say: boolean }
  | { readonly step: 'skip' }

const FIRST_DELAY_MS = 1000
const DELAY_MS_MAX = 60_000

/** Reads `hold`, `skip-after N`, `skip-after=N` or `skip-after:N`. */
export function parsePolicy(text: string): PoisonPolicy {
  if (text === 'hold') return { kind: 'hold' }
  const after = Number(/^skip-after[ =:](\d{1,6})$/.exec(text)?.[1])
  if (after >= 1) return { kind: 'skip', after }
  throw usageError(`--on-poison cannot be "${text}"`, 'use "hold", or "skip-after N" with N of at least 1')
}

/**
 * Decides after the `failures`-th failed try of one event. The first failure is said at once, later ones as often as
 * the longest delay comes round, so that neither silence nor a flood hides a held event.
 */
export function afterFailure(policy: PoisonPolicy, failures: number): AfterFailure {
  if (policy.kind === 'skip' && failures >= policy.after) return { step: 'skip' }
  const delayMs = Math.min(FIRST_DELAY_MS * 2 ** Math.min(failures - 1, 16), DELAY_MS_MAX)
  return { step: 'retry', delayMs, say: failures === 1 || delayMs === DELAY_MS_MAX }
}

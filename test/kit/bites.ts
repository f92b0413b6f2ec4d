import type { Switches } from '@kim/producer/internal'

/** A safeguard of the writer that a test can leave out. */
export type Safeguard = keyof Switches

/** The suites that prove the writer, and the file that shows each to bite. */
export const suites = {
  fault: 'fault/bite.test.ts',
  sim: 'sim/bites.test.ts',
  kills: 'kills/bite.test.ts',
} as const
export type Suite = keyof typeof suites

/**
 * Which suites must notice when a safeguard is left out. The named file runs its suite, on a part of the budget,
 * with the switch on, and fails unless violations are found: a suite that went blind fails.
 *
 * Kills cannot see what only a loss of power takes away, so most are beyond them.
 */
export const bites: Readonly<Record<Safeguard, readonly Suite[]>> = {
  skipFsync: ['fault', 'sim'],
  receiptBeforeSync: ['fault', 'sim'],
  skipDirectorySync: ['fault', 'sim'],
  skipLengthCheck: ['fault', 'sim'],
  skipKeyLookup: ['fault', 'sim', 'kills'],
  skipLossPins: ['fault', 'sim'],
}

/** The safeguards whose absence a suite must notice. */
export function safeguardsOf(suite: Suite): Safeguard[] {
  return (Object.keys(bites) as Safeguard[]).filter(safeguard => bites[safeguard].includes(suite))
}

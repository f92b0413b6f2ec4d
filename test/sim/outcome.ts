import { KimError } from '@kim/manifest'

/** What an error means to a caller. */
export type OutcomeName = 'refused' | 'moved' | 'full' | 'held' | 'failed' | 'fenced'

const byCode: Readonly<Record<string, OutcomeName>> = {
  record_invalid: 'refused',
  journal_moved: 'moved',
  store_full: 'full',
  store_held: 'held',
  store_failed: 'failed',
  store_fenced: 'fenced',
}

/** Takes an error for what it says; one that no caller could understand is thrown on. */
export function outcomeOf(error: unknown): OutcomeName {
  const outcome = error instanceof KimError ? byCode[error.code] : undefined
  if (outcome === undefined) throw error
  return outcome
}

import { KimError } from '@kim/manifest'

/** The command line can never work as given: exit 2, one line that says why and one that says what to do. */
export function usageError(message: string, hint: string): KimError {
  return new KimError('usage', message, { hint })
}

import { didYouMean } from '@kim/cli-kit'

/** What to say of a selected persona that the server's directory does not list. */
export interface UnlistedName {
  readonly message: string
  readonly hint: string
}

/** A name may be early, or mistyped: says what it may have been meant for (KS-92). */
export function unlistedName(name: string, listed: Iterable<string>): UnlistedName {
  const known = new Set(listed)
  const parts = name.split(',').map(part => part.trim())
  if (parts.length > 1 && parts.every(part => known.has(part))) {
    return {
      message: `the server lists no persona "${name}", but it lists ${parts.join(' and ')}`,
      hint: `a comma is part of a name here; for several inboxes: ${parts.map(part => `--persona ${part}`).join(' ')}`,
    }
  }
  return {
    message: `the server lists no persona "${name}"${didYouMean(name, known)}`,
    hint: 'check the name (exact case); the server answers for an unknown inbox as if it were empty',
  }
}

import { safeText } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { listEntries, noJournalAt } from '@kim/observer-sdk/history'

/** Throws `no_store` where no journal is, and `not_permitted` where one may be that does not let itself be listed. */
export function requireJournal(eventsDir: string): void {
  const missing = noJournalAt(eventsDir)
  if (missing !== undefined) throw missing
  const listed = listEntries(eventsDir)
  if (!listed.ok) throw new KimError('not_permitted', `cannot read ${safeText(eventsDir)} (${listed.code})`)
}

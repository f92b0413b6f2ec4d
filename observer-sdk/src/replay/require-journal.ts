import { safeText } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { noJournalAt } from '../store/no-journal.js'
import { listEntries } from '../store/read-only-fs.js'

/** Throws `no_store` where no journal is, and `not_permitted` where one may be that does not let itself be listed. */
export function requireJournal(eventsDir: string): void {
  const missing = noJournalAt(eventsDir)
  if (missing !== undefined) throw missing
  const listed = listEntries(eventsDir)
  if (!listed.ok) throw new KimError('not_permitted', `cannot read ${safeText(eventsDir)} (${listed.code})`)
}

import { type Input, type Io, locateStore } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { noJournalAt } from '@kim/observer-sdk/history'
import { requireJournal } from '../require-journal.js'

/** The directory that a command reads: a copy, named by `--events`, or that of a store. */
export function replayEventsDir(input: Input, io: Io): string {
  const { eventsDir } = locateStore(input, io.env)
  const isNamed = input.text('events') !== undefined || input.text('store') !== undefined
  const missing = isNamed ? undefined : noJournalAt(eventsDir)
  if (missing === undefined) return eventsDir
  // Nobody named the default store, so the hint is not to check its path.
  throw new KimError('no_store', missing.message, {
    hint: 'name a copied directory with --events DIR, or a store with --store DIR',
  })
}

/** The same, where there must be a journal. */
export function requireReplayJournal(input: Input, io: Io): string {
  const eventsDir = replayEventsDir(input, io)
  requireJournal(eventsDir)
  return eventsDir
}

import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { type Input, type Io, usageError } from '@kim/cli-kit'
import { defaultStore, KimError, storePaths } from '@kim/manifest'
import { noJournalAt } from '@kim/observer-sdk/history'
import { requireJournal } from '../require-journal.js'

/** The directory that a command reads: a copy, named by `--events`, or that of a store. */
export function replayEventsDir(input: Input, io: Io): string {
  const events = input.text('events')
  if (events === undefined) {
    const store = input.text('store')
    const inStore = storePaths(resolve(store ?? defaultStore(io.env, homedir()))).events
    const missing = store === undefined ? noJournalAt(inStore) : undefined
    if (missing === undefined) return inStore
    // Nobody named it, so it is no path to check.
    throw new KimError('no_store', missing.message, {
      hint: 'name a copied directory with --events DIR, or a store with --store DIR',
    })
  }
  if (input.given('store')) throw usageError('--store and --events exclude each other', 'give one of them')
  return resolve(events)
}

/** The same, where there must be a journal. */
export function requireReplayJournal(input: Input, io: Io): string {
  const eventsDir = replayEventsDir(input, io)
  requireJournal(eventsDir)
  return eventsDir
}

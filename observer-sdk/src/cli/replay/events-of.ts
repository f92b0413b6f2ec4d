import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { type Input, type Io, usageError } from '@kim/cli-kit'
import { defaultStore, storePaths } from '@kim/manifest'
import { requireJournal } from '../../replay/require-journal.js'

/** The directory that a command reads: a copy, named by `--events`, or that of a store. */
export function eventsOf(input: Input, io: Io): string {
  const events = input.text('events')
  if (events === undefined)
    return storePaths(resolve(input.text('store') ?? defaultStore(io.env, homedir()))).events
  if (input.given('store')) throw usageError('--store and --events both name a journal', 'give one of them')
  return resolve(events)
}

/** The same, where there must be a journal. */
export function journalOf(input: Input, io: Io): string {
  const eventsDir = eventsOf(input, io)
  requireJournal(eventsDir)
  return eventsDir
}

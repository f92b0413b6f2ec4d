import { existsSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Input, Io } from '@kim/cli-kit'
import { KimError, storePaths } from '@kim/manifest'
import { noJournalAt } from '@kim/observer-sdk/history'
import type { RehearsedChange } from '../effects/rehearsal.js'
import { type Journal, openJournalWith } from '../journal/journal.js'
import type { Log } from '../journal/log.js'
import type { JournalOptions } from '../journal/store.js'
import { rehearse } from '../journal/store.js'
import { storeOf } from './store-flags.js'

/** How a one-shot command opens the store it was given; refused where there is none, so that none is made. */
export function storeOptions(input: Input, io: Io): JournalOptions {
  const storeDir = storeOf(input, io)
  const { events } = storePaths(storeDir)
  if (!existsSync(events)) {
    const isInside =
      noJournalAt(storeDir) === undefined && existsSync(storeDir) && readdirSync(storeDir).length > 0
    throw new KimError('no_store', `there is no store at ${storeDir}`, {
      hint: isInside
        ? `nothing was created; this is an events directory; did you mean --store ${dirname(storeDir)}?`
        : 'nothing was created; name a store with --store DIR',
    })
  }
  const missing = noJournalAt(events)
  if (missing !== undefined) throw missing
  return { storeDir, log: logTo(io) }
}

/** A journal opened for a dry run: nothing that is done to it reaches the disk. */
export function withRehearsal<T>(
  options: JournalOptions,
  work: (journal: Journal, opening: readonly RehearsedChange[]) => T,
): T {
  const rehearsal = rehearse(options)
  return withJournal(rehearsal.options, journal => work(journal, rehearsal.changes()))
}

/** Opens the journal, lets the command work, and lets go of the store whatever happens. */
export function withJournal<T>(options: JournalOptions, work: (journal: Journal) => T): T {
  const journal = openJournalWith(options)
  try {
    return work(journal)
  } finally {
    journal.close()
  }
}

/** What the journal noticed, as lines for the operator. */
function logTo(io: Io): Log {
  return ({ level, message, hint }) => {
    if (level === 'info') return
    io.stderr.write(`${level === 'warn' ? 'warning' : 'error'}: ${message}\n`)
    if (hint !== undefined) io.stderr.write(`  ${hint}\n`)
  }
}

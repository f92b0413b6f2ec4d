import { once } from 'node:events'
import { type Input, type Io, locateStore, withProgress } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { noJournalAt } from '@kim/observer-sdk/history'
import { statsJournal, statsText, verdictText, verifyJournal } from '@kim/observer-sdk/verify'
import { exportRecords } from '../../journal/export.js'
import { storeOptions } from '../open-store.js'
import { report } from '../store-flags.js'

/** `journal verify`: checks a journal, and exits with the verdict. */
export async function journalVerify(input: Input, io: Io): Promise<number> {
  const { eventsDir } = locateStore(input, io.env)
  const verdict = await withProgress(io, 'verify', control => verifyJournal({ eventsDir, ...control }))
  report(input, io, verdict, verdictText(verdict, eventsDir).split('\n'))
  return verdict.exit
}

/** `journal stats`: counts what a journal holds. */
export async function journalStats(input: Input, io: Io): Promise<number> {
  const { eventsDir } = locateStore(input, io.env)
  const counted = await withProgress(io, 'stats', control => statsJournal({ eventsDir, ...control }))
  if (!counted.ok) {
    if (counted.reason === 'absent')
      throw noJournalAt(eventsDir) ?? new KimError('no_store', `there is no journal at ${eventsDir}`)
    throw new KimError('not_permitted', `cannot read ${eventsDir} (${counted.code})`)
  }
  const stats = counted.value
  report(input, io, stats, statsText(stats, eventsDir).split('\n'))
  return stats.unreadable.length > 0 ? 6 : 0
}

/** `journal export`: prints the stored lines of all available segments. Exits 6 if a part is unreadable. */
export async function journalExport(input: Input, io: Io): Promise<number> {
  let exit = 0
  const lines = exportRecords({
    storeDir: storeOptions(input, io).storeDir,
    from: input.number('from-seq'),
    to: input.number('to-seq'),
    agents: input.list('persona'),
    unreadable: why => {
      exit = 6
      io.stderr.write(`warning: ${why}\n`)
    },
  })
  for await (const line of lines) {
    if (io.signal.aborted) throw io.signal.reason
    if (!io.stdout.write(line)) await once(io.stdout, 'drain', { signal: io.signal })
  }
  return exit
}

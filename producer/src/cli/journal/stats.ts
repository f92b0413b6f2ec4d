import { type Input, type Io, startProgress } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { noJournalAt } from '@kim/observer-sdk/history'
import { statsJournal, statsText } from '@kim/observer-sdk/verify'
import { report } from '../report.js'
import { eventsDirOf } from '../store-flags.js'

/** Counts what a journal holds. */
export async function run(input: Input, io: Io): Promise<number> {
  const eventsDir = eventsDirOf(input, io)
  const progress = startProgress({ label: 'stats', unit: 'bytes', stream: io.stderr })
  const onProgress = ({ done, total }: { done: number; total: number }): void => progress.update(done, total)
  const counted = await statsJournal({ eventsDir, signal: io.signal, onProgress }).finally(progress.end)
  if (!counted.ok) {
    if (counted.reason === 'absent')
      throw noJournalAt(eventsDir) ?? new KimError('no_store', `there is no journal at ${eventsDir}`)
    throw new KimError('not_permitted', `cannot read ${eventsDir} (${counted.code})`)
  }
  const stats = counted.value
  report(input, io, stats, statsText(stats, eventsDir).split('\n'))
  return stats.unreadable.length > 0 ? 6 : 0
}

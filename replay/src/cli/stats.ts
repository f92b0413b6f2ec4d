import { type Input, type Io, printReport, withProgress } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { statsJournal, statsText } from '@kim/observer-sdk/verify'
import { requireJournal } from '../reading.js'
import { replayEventsDir } from './input.js'

/** Counts what a journal holds. */
export async function run(input: Input, io: Io): Promise<number> {
  const eventsDir = replayEventsDir(input, io)
  requireJournal(eventsDir)
  const counted = await withProgress(io, 'stats', control => statsJournal({ eventsDir, ...control }))
  if (!counted.ok) {
    if (counted.reason === 'absent') throw new KimError('no_store', `there is no journal at ${eventsDir}`)
    throw new KimError('not_permitted', `cannot read ${eventsDir} (${counted.code})`)
  }
  printReport(io, input.bool('json'), counted.value, statsText(counted.value, eventsDir).split('\n'))
  return counted.value.unreadable.length > 0 ? 6 : 0
}

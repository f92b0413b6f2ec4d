import { type PassOptions, PassPacer } from '@kim/observer-sdk/verify'
import type { CopiedJournal } from './copied-journal.js'
import type { Missing } from './damage.js'
import { walkLines } from './line-walk.js'
import { Reading } from './reading.js'

/** What all that is available of a journal lacks: a name that nobody finds there may be among it. */
export async function findMissingRecords(journal: CopiedJournal, options: PassOptions): Promise<Missing> {
  const reading = new Reading({ after: journal.first - 1 })
  if (journal.first > 1) reading.damage.startsAt(journal.first)
  await walkLines(journal, reading, new PassPacer(options))
  return reading.damage.close(journal)
}

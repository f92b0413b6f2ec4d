import { type Input, type Io, printReport, withProgress } from '@kim/cli-kit'
import { verdictText } from '../../verify/verdict-text.js'
import { verifyJournal } from '../../verify/verify.js'
import { eventsOf } from './events-of.js'

/** Judges a journal and exits with its verdict. */
export async function run(input: Input, io: Io): Promise<number> {
  const eventsDir = eventsOf(input, io)
  const verdict = await withProgress(io, 'verify', control => verifyJournal({ eventsDir, ...control }))
  printReport(io, input.bool('json'), verdict, verdictText(verdict, eventsDir))
  return verdict.exit
}

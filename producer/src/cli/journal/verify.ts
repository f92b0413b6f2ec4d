import { type Input, type Io, startProgress } from '@kim/cli-kit'
import { verdictText, verifyJournal } from '@kim/observer-sdk/verify'
import { report } from '../report.js'
import { eventsDirOf } from '../store-flags.js'

/** Judges a journal and exits with its verdict. */
export async function run(input: Input, io: Io): Promise<number> {
  const eventsDir = eventsDirOf(input, io)
  const progress = startProgress({ label: 'verify', unit: 'bytes', stream: io.stderr })
  const onProgress = ({ done, total }: { done: number; total: number }): void => progress.update(done, total)
  const verdict = await verifyJournal({ eventsDir, signal: io.signal, onProgress }).finally(progress.end)
  report(input, io, verdict, verdictText(verdict, eventsDir).split('\n'))
  return verdict.exit
}

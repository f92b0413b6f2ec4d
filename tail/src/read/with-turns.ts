import { nextTurn } from '@kim/manifest'
import type { RecordLine } from '../record-line.js'

/** One step of a look at what stands there: an entry that is wanted, or undefined for one that was passed over. */
export type ScanStep = RecordLine | undefined

/** How long others wait for their turn; a journal is looked through for seconds. */
const SLICE_MS = 20

/**
 * The entries of a look that may take long, with turns for others in between: signals are answered, and a lock that
 * has to be touched stays ours. Ends early, wherever it is, once the signal is aborted.
 */
export async function* withTurns(steps: Iterable<ScanStep>, signal: AbortSignal): AsyncGenerator<RecordLine> {
  let began = performance.now()
  for (const step of steps) {
    if (signal.aborted) return
    if (step !== undefined) yield step
    if (performance.now() - began < SLICE_MS) continue
    await nextTurn()
    began = performance.now()
  }
}

import {
  type Input,
  type Io,
  locateStore,
  type StoreLocation,
  safeJson,
  safeText,
  usageError,
} from '@kim/cli-kit'
import type { AnomalyKind } from '@kim/manifest'
import { listStore, openSegment } from '@kim/observer-sdk/history'
import { type Activity, judgeActivity } from '../board/activity.js'
import { withObserver } from '../board/with-observer.js'
import { MissingSegments } from '../read/missing-segments.js'
import { RecordLog } from '../read/record-log.js'

/** Exit codes of this command alone: everything that is no answer is 2. */
const EXIT: Readonly<Record<Activity['answer'], number>> = { yes: 0, no: 1, unknown: 2 }

/** `kim-tail activity`: has this author written since? */
export async function run(input: Input, io: Io): Promise<number> {
  const author = input.positional('persona') ?? ''
  const sinceId = input.number('since-id')
  if (sinceId === undefined)
    throw usageError('activity needs --since-id N', 'N is the id after which to look')
  const found = await judge(locateStore(input, io.env), author, sinceId)
  const code = EXIT[found.answer]
  // Should nobody read the answer, the code is still the answer and not "fine".
  process.once('exit', () => {
    process.exitCode = code
  })
  io.stdout.write(
    input.bool('json')
      ? `${safeJson(JSON.stringify({ answer: found.answer, floor: found.floor ?? null, last_id: found.lastId ?? null, persona: author, since_id: sinceId, why: found.why }))}\n`
      : `${found.answer}: ${safeText(author)} since ${sinceId}: ${safeText(found.why)}\n`,
  )
  return code
}

/** What may have been the message that is asked for. */
const DAMAGE: readonly AnomalyKind[] = [
  'malformed',
  'future',
  'seq_hole',
  'payload_ref_invalid',
  'blob_missing',
  'blob_mismatch',
  'unreadable',
]

/** Segments that are missing or cannot be read; behind the newest there is none that would show it. */
function areSegmentsWhole({ eventsDir }: StoreLocation): boolean {
  const past = RecordLog.open(eventsDir)
  const newest = past?.segments.at(-1)
  const listed = listStore(eventsDir)
  if (listed.ok && listed.value.failures.length > 0) return false
  if (past === undefined || newest === undefined) return true
  const opened = openSegment(eventsDir, newest.number)
  if (!opened.ok) return false
  opened.value.close()
  return new MissingSegments(() => past).between(0, Number.MAX_SAFE_INTEGER).length === 0
}

/** The answer, or that there is none: a journal that cannot be read whole is no evidence of silence. */
async function judge(location: StoreLocation, author: string, sinceId: number): Promise<Activity> {
  const unknown = (why: string): Activity => ({ answer: 'unknown', lastId: undefined, floor: undefined, why })
  try {
    return await withObserver(location, observer => {
      const found = judgeActivity(author, sinceId, observer.state.values())
      const { kind, reasons } = observer.status
      const damage = DAMAGE.filter(anomaly => (observer.anomalies[anomaly] ?? 0) > 0)
      if (found.answer === 'no' && damage.length > 0)
        return unknown(`a part of the journal is missing or damaged (${damage.join(', ')})`)
      if (found.answer === 'no' && !areSegmentsWhole(location))
        return unknown('a segment of the journal is missing or cannot be read')
      if (found.answer === 'no' && kind !== 'live')
        return unknown(`the journal is ${kind} (${reasons.join(', ')})`)
      return found
    })
  } catch (error) {
    return unknown(error instanceof Error ? error.message : String(error))
  }
}

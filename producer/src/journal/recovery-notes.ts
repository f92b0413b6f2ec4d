import { createHash } from 'node:crypto'
import type { Draft } from './draft.js'
import { journalNote } from './notes.js'
import type { AbandonedRun, ScannedRange } from './segment-scan.js'

/** Names a line that is no record. `bytes` is asked only for a line too long to be held. */
export function tornNote(
  segment: string,
  { from, to, sha256 }: ScannedRange,
  bytes: () => Iterable<Uint8Array>,
): Draft {
  const digest = sha256 ?? digestOfChunks(bytes())
  return journalNote(
    'torn_tail_adjudicated',
    { segment, from, to, sha256: digest },
    `bytes ${from} to ${to} of ${segment} are no record`,
  )
}

/** Names a run that never had an effect. */
export function abandonedNote(segment: string, { began, ...run }: AbandonedRun): Draft {
  return journalNote(
    'tx_abandoned',
    { ...run, segment },
    `${run.records} of ${run.n} records${began ? '' : ', the first of which are lost,'} of a transaction never took effect`,
  )
}

function digestOfChunks(chunks: Iterable<Uint8Array>): string {
  const hash = createHash('sha256')
  for (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex')
}

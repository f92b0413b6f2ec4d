import type { NaiveLine, NaiveRecord } from './line.js'

/** What becomes of a record: it applies, it never will, or its run may still be completed. */
export type Release = 'released' | 'incomplete' | 'pending'

/**
 * Judges the lines of one segment. A run is complete when its n records stand on n consecutive non-blank
 * lines with i = 1…n, one id, one n and one writer. A run that is sound up to the last line of the newest
 * segment is pending; any other is incomplete.
 */
export function judgeTransactions(lines: readonly NaiveLine[], newest: boolean): Map<NaiveLine, Release> {
  const solid = lines.filter(line => line.kind !== 'blank')
  const releases = new Map<NaiveLine, Release>()
  let at = 0
  while (at < solid.length) {
    const line = solid[at]!
    if (line.kind !== 'record') {
      at += 1
      continue
    }
    const { tx } = line.record
    if (tx === undefined) {
      releases.set(line, 'released')
      at += 1
      continue
    }
    if (tx === 'malformed' || tx.i !== 1) {
      releases.set(line, 'incomplete')
      at += 1
      continue
    }
    let length = 1
    while (length < tx.n && continues(line.record, solid[at + length], length + 1)) length += 1
    const openAtEnd = length < tx.n && at + length === solid.length && newest
    const verdict: Release = length === tx.n ? 'released' : openAtEnd ? 'pending' : 'incomplete'
    for (let k = 0; k < length; k++) releases.set(solid[at + k]!, verdict)
    at += length
  }
  return releases
}

function continues(first: NaiveRecord, line: NaiveLine | undefined, i: number): boolean {
  if (line?.kind !== 'record') return false
  const { tx, writer } = line.record
  if (tx === undefined || tx === 'malformed' || first.tx === undefined || first.tx === 'malformed')
    return false
  return tx.id === first.tx.id && tx.n === first.tx.n && tx.i === i && writer === first.writer
}

import { lastSeqOf } from '@kim/manifest'
import { openSegment, type SegmentEntry } from '@kim/observer-sdk/history'
import type { ReportedGap } from '../flow/reporter.js'
import type { RecordLog } from './record-log.js'

/**
 * Finds what is missing between segments that stand: a segment's name is the number that came next when it was
 * made, so the one before it ends right below, or something between them is gone.
 */
export class MissingSegments {
  readonly #list: () => RecordLog | undefined
  #past: RecordLog | undefined

  /** `list` is asked anew whenever numbers are passed over: segments come and go. */
  constructor(list: () => RecordLog | undefined) {
    this.#list = list
  }

  /** The gaps above one seq and below another, of which something was read. */
  between(after: number, before: number): ReportedGap[] {
    if (before <= after + 1) return []
    // Most numbers that are passed over were filtered out, in the segment that is being read.
    if (this.#past === undefined || home(this.#past, before) !== home(this.#past, after))
      this.#past = this.#list()
    const past = this.#past
    if (past === undefined) return []
    const { segments } = past
    const gaps: ReportedGap[] = []
    for (
      let at = Math.max(
        1,
        segments.findLastIndex(({ number }) => number <= after + 1),
      );
      ;
      at++
    ) {
      const [older, newer] = [segments[at - 1], segments[at]]
      if (older === undefined || newer === undefined || newer.number > before) return gaps
      const from = Math.max(lastSeqIn(past, older), after) + 1
      if (from < newer.number) gaps.push({ from, to: newer.number - 1, reason: 'missing' })
    }
  }
}

function home({ segments }: RecordLog, seq: number): SegmentEntry | undefined {
  return segments.findLast(({ number }) => number <= seq)
}

/** The seq of a segment's last record; one below its number if it holds none, or none that can be read. */
function lastSeqIn({ eventsDir }: RecordLog, { number }: SegmentEntry): number {
  const opened = openSegment(eventsDir, number)
  if (!opened.ok) return number - 1
  try {
    return lastSeqOf(opened.value) ?? number - 1
  } finally {
    opened.value.close()
  }
}

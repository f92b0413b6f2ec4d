import { readSegment, type SegmentLine } from '@kim/manifest'
import type { CopiedJournal } from './copied-journal.js'
import { timestampMs } from './timestamp.js'

/** The time of the last record that states one, in milliseconds: what an old copy calls now. */
export function newestTime({ history }: CopiedJournal): number | undefined {
  for (const { number } of history.segments.toReversed()) {
    const found = history.read(number, content => {
      let newest: number | undefined
      const valid = ({ record }: SegmentLine): true => {
        const ms = timestampMs(record.ts)
        if (!Number.isNaN(ms)) newest = ms
        return true
      }
      readSegment(() => content.chunks(), { valid })
      return newest
    })
    if (found !== undefined) return found
  }
  return undefined
}

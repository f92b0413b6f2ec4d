import { decodeLine } from '@kim/manifest'
import { segmentLines } from '../store/segment-lines.js'
import type { CopiedJournal } from './copied-journal.js'
import { stampMs } from './stamp.js'

/** The time of the last record that states one, in milliseconds: what an old copy calls now. */
export function newestTime({ history }: CopiedJournal): number | undefined {
  for (const { number } of history.segments.toReversed()) {
    const found = history.read(number, content => {
      let newest: number | undefined
      for (const line of segmentLines(content)) {
        const decoded = line.kind === 'line' ? decodeLine(line.bytes, line.atFileStart) : undefined
        const ms = decoded?.kind === 'record' ? stampMs(decoded.record.ts) : Number.NaN
        if (!Number.isNaN(ms)) newest = ms
      }
      return newest
    })
    if (found !== undefined) return found
  }
  return undefined
}

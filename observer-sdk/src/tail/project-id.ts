import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { decodeLine, type ReadRecord } from '@kim/manifest'
import type { FileContent } from '../store/file-content.js'
import { segmentLines } from '../store/segment-lines.js'
import type { History } from './history.js'
import { LineJudge } from './line-judge.js'

/** The id that the journal states: in the first valid record of a live segment, if that is a note that has one. */
export function statedProjectId(history: History): string | undefined {
  for (const { number, place } of history.segments) {
    if (place !== 'live') continue
    const record = history.read(number, firstRecord)
    const stated = record?.action === 'journal_note' ? record.payload : undefined
    const kind = stated?.['kind']
    const id = stated?.['project_id']
    if ((kind === 'genesis' || kind === 'segment_sealed') && typeof id === 'string') return id
  }
  return undefined
}

/** What stands in for the id of a journal that states none. */
export function directoryProjectId(eventsDir: string): string {
  let path = eventsDir
  try {
    path = realpathSync(eventsDir)
  } catch {
    // Absent or unreadable: the path as given will do until there is something to read.
  }
  return createHash('sha256').update(path).digest('hex')
}

function firstRecord(content: FileContent): ReadRecord | undefined {
  const judge = new LineJudge(0, () => [])
  for (const line of segmentLines(content)) {
    if (line.kind === 'too_long') {
      judge.interrupt()
      continue
    }
    const decoded = decodeLine(line.bytes, line.atFileStart)
    if (decoded.kind === 'blank') continue
    const { released } = judge.judge(decoded, line.offset, line.bytes)
    if (released[0] !== undefined) return released[0].record
  }
  return undefined
}

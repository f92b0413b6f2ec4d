/** The id that a client keeps its cursor under: the one that the journal states, else one of its directory. */
import { createHash } from 'node:crypto'
import { realpathSync } from 'node:fs'
import { type ReadRecord, SegmentReader } from '@kim/manifest'
import type { FileContent } from '../store/file-content.js'
import type { SegmentSet } from './segment-set.js'

/** Read first to see what the journal states of itself: the first record of a segment is a note, and short. */
const FIRST_BYTES = 4 * 1024

/** The id that a journal states: in the first valid record of a live segment, if that is a note that has one. */
export function statedProjectId(history: Pick<SegmentSet, 'segments' | 'read'>): string | undefined {
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

/** Takes the place of the id of a journal that states none. */
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
  let first: ReadRecord | undefined
  const reader = new SegmentReader({
    released: ({ record }) => {
      first ??= record
      reader.stop()
    },
  })
  for (let at = 0, length = FIRST_BYTES; ; length *= 8) {
    const chunk = content.read(at, length)
    if (chunk.length === 0 || !reader.push(chunk)) return first
    at += chunk.length
  }
}

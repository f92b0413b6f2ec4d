import { parseCheckpointRef, type ReadRecord, SegmentReader } from '@kim/manifest'
import { openSegment } from '../store/file-content.js'
import type { SegmentEntry } from '../store/listing.js'
import type { CheckpointFile } from './checkpoint-file.js'
import { isSameDigest } from './file-digest.js'
import type { PassPacer } from './pace.js'

/**
 * Looks ahead for the ref that makes a checkpoint a verified one. Needed only where records are missing, because
 * only there the checkpoint must be trusted before the walk comes to its ref.
 */
export async function isReferenced(
  eventsDir: string,
  segments: readonly SegmentEntry[],
  file: CheckpointFile,
  pace: PassPacer,
): Promise<boolean> {
  // A segment that is followed by one numbered at or below the head holds nothing above the head.
  const from = segments.findLastIndex(segment => segment.number <= file.headSeq)
  let isFound = false
  for (const segment of segments.slice(Math.max(0, from))) {
    const opened = openSegment(eventsDir, segment.number)
    if (!opened.ok) continue
    const reader = new SegmentReader({
      valid({ record }) {
        isFound = refersTo(record, file)
        return !isFound
      },
    })
    try {
      for await (const chunk of opened.value.stream()) {
        reader.push(chunk)
        if (isFound) return true
        await pace.turn(chunk.length)
      }
    } finally {
      opened.value.close()
    }
  }
  return false
}

function refersTo({ action, payload, seq }: ReadRecord, file: CheckpointFile): boolean {
  const ref = action === 'checkpoint_ref' ? parseCheckpointRef(payload) : undefined
  if (ref === undefined || seq <= file.headSeq || ref.file !== file.name) return false
  return isSameDigest(ref, file) && ref.entities === file.header?.entity_count
}

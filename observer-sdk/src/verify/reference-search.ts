import { CheckpointRefs, refFault, SegmentReader } from '@kim/manifest'
import { openSegment } from '../store/file-content.js'
import type { SegmentEntry } from '../store/listing.js'
import type { SurveyedCheckpoint } from './checkpoint-file.js'
import type { PassPacer } from './pace.js'

/**
 * Looks ahead for the ref that makes a checkpoint a verified one. Needed only where records are missing, because
 * only there the checkpoint must be trusted before the walk comes to its ref.
 */
export async function isReferenced(
  eventsDir: string,
  segments: readonly SegmentEntry[],
  file: SurveyedCheckpoint,
  pace: PassPacer,
): Promise<boolean> {
  // A segment that is followed by one numbered at or below the head holds nothing above the head.
  const from = segments.findLastIndex(segment => segment.number <= file.headSeq)
  const { header } = file
  if (header === undefined) return false
  for (const segment of segments.slice(Math.max(0, from))) {
    const opened = openSegment(eventsDir, segment.number)
    if (!opened.ok) continue
    const refs = new CheckpointRefs()
    const reader = new SegmentReader(refs)
    try {
      for await (const chunk of opened.value.stream()) {
        reader.push(chunk)
        if (refs.found.some(ref => refFault(ref, { ...file, header }, undefined) === undefined)) return true
        await pace.turn(chunk.length)
      }
    } finally {
      opened.value.close()
    }
  }
  return false
}

import type { FileContent } from '../store/file-content.js'
import { openCheckpoint, openSegment } from '../store/file-content.js'
import type { StoreListing } from '../store/listing.js'
import type { ReadResult } from '../store/read-only-fs.js'

/** Bytes on disk of all segments. */
export function segmentBytes(eventsDir: string, { segments }: StoreListing): number {
  return segments.reduce((sum, { number }) => sum + bytesOf(openSegment(eventsDir, number)), 0)
}

/** Bytes on disk of all checkpoints. */
export function checkpointBytes(eventsDir: string, { checkpoints }: StoreListing): number {
  return checkpoints.reduce((sum, { headSeq }) => sum + bytesOf(openCheckpoint(eventsDir, headSeq)), 0)
}

function bytesOf(opened: ReadResult<FileContent>): number {
  if (!opened.ok) return 0
  const { storedBytes } = opened.value
  opened.value.close()
  return storedBytes
}

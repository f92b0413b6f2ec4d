import { join } from 'node:path'
import { archivedSegmentName, blobPath, checkpointName, eventsPaths, segmentName } from '@kim/manifest'
import { type Candidate, type FileContent, openFirst, openReadable } from './file-content.js'
import type { ReadResult } from './read-result.js'

/** Opens a segment wherever it can be read: live, else archived plain, else archived compressed. */
export function openSegment(eventsDir: string, number: number): ReadResult<FileContent> {
  const { archive } = eventsPaths(eventsDir)
  const archived = (gzipped: boolean): string =>
    join(archive, archivedSegmentName({ first: number, gzipped }))
  return openReadable([
    candidate(join(eventsDir, segmentName(number)), 'live'),
    candidate(archived(false), 'archive'),
    candidate(archived(true), 'archive', true),
  ])
}

/** Opens a checkpoint wherever it stands: live, else archived; or only the archived one. */
export function openCheckpoint(
  eventsDir: string,
  headSeq: number,
  place?: 'archive',
): ReadResult<FileContent> {
  const { archive, checkpoints } = eventsPaths(eventsDir)
  const name = checkpointName(headSeq)
  const archived = candidate(join(archive, name), 'archive')
  return openFirst(place === 'archive' ? [archived] : [candidate(join(checkpoints, name), 'live'), archived])
}

/** Opens the blob with this hash. */
export function openBlob(eventsDir: string, sha256: string): ReadResult<FileContent> {
  return openFirst([candidate(join(eventsPaths(eventsDir).blobs, blobPath(sha256)), 'live')])
}

function candidate(path: string, place: Candidate['place'], gzip = false): Candidate {
  return { path, place, gzip }
}

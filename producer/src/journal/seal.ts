import { basename } from 'node:path'
import { segmentName } from '@kim/manifest'
import type { ActiveSegment } from './active-segment.js'
import type { Sealed } from './boundary.js'
import type { Draft } from './draft.js'
import { type SegmentSource, segmentChunks } from './listing.js'
import { journalNote } from './notes.js'
import { SegmentScan } from './segment-scan.js'
import type { Store } from './store.js'

/** The note about the segment before: the first record of every segment but the first. */
export function sealNote(sealed: Sealed, projectId: string): Draft {
  return journalNote(
    'segment_sealed',
    { ...sealed, project_id: projectId },
    `${sealed.segment}: ${sealed.bytes} bytes, numbers ${sealed.first_seq} to ${sealed.last_seq}`,
  )
}

/** The segment that this process has been appending to, as its seal will state it. */
export function sealOf(segment: ActiveSegment): Sealed {
  return {
    segment: segmentName(segment.number),
    bytes: segment.length,
    sha256: segment.hash.copy().digest('hex'),
    first_seq: segment.firstSeq,
    last_seq: segment.lastSeq,
  }
}

/** Any segment, read to its end, as its seal has to state it. */
export function sealOfScan(source: SegmentSource, scan: SegmentScan): Sealed {
  return {
    segment: basename(source.path).replace(/\.gz$/, ''),
    bytes: scan.bytes,
    sha256: scan.sha256,
    // A file without a record has no numbers of its own; its name is the next there was.
    first_seq: scan.first?.seq ?? source.number,
    last_seq: scan.first === undefined ? source.number - 1 : scan.lastSeq,
  }
}

/** Reads a segment for its seal. */
export function readSeal(store: Store, source: SegmentSource): Sealed {
  const scan = new SegmentScan({})
  for (const chunk of segmentChunks(store, source)) scan.push(chunk)
  return sealOfScan(source, scan)
}

export { type ObserverSeams, openObserverWith } from './observer.js'
export { type ColdResult, coldStart } from './replay/digest.js'
export { type FullResult, fullScan } from './replay/full-scan.js'
export { type BlobMismatch, checkBlob, readBlob } from './store/blob-file.js'
export {
  type Candidate,
  type ContentRange,
  chunkBytes,
  FileContent,
  openFirst,
} from './store/file-content.js'
export { inflatedBytesMax } from './store/gzip.js'
export { type CheckpointEntry, listStore, type SegmentEntry, type StoreListing } from './store/listing.js'
export { type Failure, failureOf, type Outcome } from './store/outcome.js'
export {
  closeFile,
  listNames,
  type OpenFile,
  openRegularFile,
  readAt,
  sizeNow,
  sizeOf,
} from './store/read-only-fs.js'
export { segmentLines } from './store/segment-lines.js'
export { openBlob, openCheckpoint, openSegment } from './store/store-files.js'
export {
  type Example,
  type Finding,
  type FindingKind,
  type Findings,
  type FindingWeight,
  findingWeights,
  type Place,
} from './verify/findings.js'
export { SeqSet } from './verify/seq-set.js'

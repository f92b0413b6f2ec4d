/** Segments, blobs, checkpoints and records of a journal, in both directions, without following it. */
export { checkBlob, payloadOf, readBlob } from './store/blobs.js'
export {
  chunkBytes,
  type FileContent,
  gunzipStream,
  openCheckpoint,
  openSegment,
} from './store/file-content.js'
export { listStore, type SegmentEntry } from './store/listing.js'
export { noJournalAt } from './store/no-journal.js'
export {
  closeFile,
  listEntries,
  type OpenFile,
  openRegularFile,
  type ReadFailure,
  readAt,
} from './store/read-only-fs.js'
export { isInsideStore, type ObservedStore } from './store/real-path.js'
export {
  type CheckpointDocument,
  checkpointEntities,
  checkpointVerifier,
  readCheckpoint,
  searchCheckpoint,
} from './tail/checkpoints.js'
export type { DeriveLimits, Snapshot } from './tail/cold-start.js'
export { JournalDirectory } from './tail/directory.js'
export { JournalHistory, openHistory } from './tail/history.js'
export { type JournalLine, JournalReader, ORIGIN } from './tail/journal-reader.js'
export { type Gap, missingBetween, type Start } from './tail/locate.js'
export { RecordSource } from './tail/record-source.js'
export { directoryProjectId, SegmentSet } from './tail/segment-set.js'
export type { Flaw } from './tail/stored-image.js'

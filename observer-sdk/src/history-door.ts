/** Segments, blobs, the names of checkpoints, and records in both directions, without following the journal. */
export { payloadOf, readBlob } from './store/blobs.js'
export { type FileContent, openFile, openSegment } from './store/file-content.js'
export { type CheckpointEntry, listStore, type SegmentEntry } from './store/listing.js'
export { noJournalAt } from './store/no-journal.js'
export { closeFile, listEntries, openRegularFile, type ReadFailure, readAt } from './store/read-only-fs.js'
export { isInsideStore, type ObservedStore } from './store/real-path.js'
export { JournalHistory, openHistory } from './tail/history.js'
export type { JournalLine } from './tail/journal-reader.js'

export type { CheckpointHeader, CheckpointRef, KeyEntry } from './checkpoint.js'
export {
  checkpointFooter,
  checkpointKey,
  encodeCheckpoint,
  encodeCheckpointEntity,
  encodeCheckpointHeader,
  headOf,
  inCheckpointOrder,
  parseCheckpointEntity,
  parseCheckpointHeader,
  parseCheckpointRef,
  registryCapability,
  registryOfAllCapability,
  revisionsInOrder,
} from './checkpoint.js'
export type { CheckpointLine } from './checkpoint-reader.js'
export { CheckpointReader, EntityLineMatcher } from './checkpoint-reader.js'
export type { CheckpointFile, FoundRef, VouchedCheckpoint } from './checkpoint-verification.js'
export { CheckpointRefs, CheckpointVerifier, inSearchOrder, refFault } from './checkpoint-verification.js'
export type { AttentionEntity, Effect } from './classify.js'
export {
  alertFacts,
  alertKinds,
  attentionOf,
  canonicalType,
  classOf,
  deliveryTriesOf,
  effectOf,
  entersActivity,
  forgetsRevision,
  isAccountAlertKind,
  isAlertKind,
  isCounted,
  isNews,
  isRegistryFamily,
  isRegistryGenesis,
  livenessOf,
  sectionsOf,
  wakeClassOf,
} from './classify.js'
export type { ConsumerCursor, Cursor, Watermark } from './cursor.js'
export {
  formatConsumerCursor,
  formatCursor,
  formatCursorToken,
  parseConsumerCursor,
  parseCursor,
  parseCursorToken,
  parseWatermark,
} from './cursor.js'
export type { DigestEntity } from './digest.js'
export { compareUtf8, entityHash, jcs, payloadHash, projectionDigest, sha256Hex } from './digest.js'
export type { Entity, Revision, TableEntry } from './entity-table.js'
export { doubled, EntityTable, upsertedEntity } from './entity-table.js'
export type { ErrorCode } from './errors.js'
export { errorCodes, invariant, KimError } from './errors.js'
export { eventIdOf, nonceOf } from './event-id.js'
export type { Slices, Timers } from './event-loop.js'
export { nextTurn, runAtOnce, runInTurns, Signal } from './event-loop.js'
export type { FoldedRecord, FoldStart, Head, SeqRange } from './fold.js'
export { Continuity, Fold, repairedBy } from './fold.js'
export type { AccountAlertKind, AlertKind } from './generated/action-classes.js'
export { actionClasses } from './generated/action-classes.js'
export type { AnomalyKind } from './generated/anomalies.js'
export { anomalies } from './generated/anomalies.js'
export type { JsonObject, JsonValue } from './json.js'
export { exceedsNesting, isCount, isJsonObject, isSeq, isSha256, toWellFormed } from './json.js'
export type { Environment, StorePaths } from './layout.js'
export {
  archivedSegmentName,
  blobPath,
  checkpointName,
  clientState,
  controlPipe,
  controlSocketElsewhere,
  cursorKey,
  defaultStateHome,
  defaultStore,
  eventsPaths,
  isBlobDirectory,
  isMisnamedSegment,
  parseArchivedSegmentName,
  parseCheckpointName,
  parseSegmentName,
  parseTempName,
  segmentName,
  storePaths,
  tempName,
} from './layout.js'
export {
  belongsInBlob,
  clipSummary,
  fitsCommit,
  isKeyForgettable,
  isSegmentFull,
  limits,
  seqRoom,
} from './limits.js'
export { LineFrame } from './line-frame.js'
export type { Meta } from './meta.js'
export { announcedLoss, encodeMeta, parseMeta } from './meta.js'
export type {
  Actor,
  EventRecord,
  MalformedReason,
  PayloadRef,
  ReadRecord,
  RecordClocks,
  Tx,
} from './record.js'
export { encodeRecord, entityKey, faultOf, JournalTime, parsePayload } from './record.js'
export type { AsyncReplaceDisk, ReplaceDisk } from './replace-file.js'
export { replaceFile, replaceFileAsync } from './replace-file.js'
export { RingBuffer } from './ring-buffer.js'
export { isPeakBefore, lastSeqOf, recordsBackwards } from './segment-backwards.js'
export type {
  MalformedLine,
  PlainLine,
  RestartListener,
  SegmentListener,
  UnterminatedLine,
} from './segment-reader.js'
export { readSegment, recordOf, SegmentLine, SegmentReader } from './segment-reader.js'
export type { TailAction, TailFeatures, TailLabel } from './tail-state.js'
export { classifyTail, TAIL_ROWS } from './tail-state.js'
export { formatCount, safeJson, safeText, shellWord } from './text.js'

export {
  afterCheckpointHeader,
  type CheckpointHeader,
  type CheckpointRef,
  checkpointFooter,
  checkpointKey,
  encodeCheckpoint,
  encodeCheckpointEntity,
  encodeCheckpointHeader,
  headOf,
  inCheckpointOrder,
  type KeyEntry,
  parseCheckpointEntity,
  parseCheckpointHeader,
  parseCheckpointRef,
  registryCapability,
  registryOfAllCapability,
  revisionsInOrder,
  verifyHeader,
} from './checkpoint.js'
export {
  type CheckpointLine,
  CheckpointReader,
  CheckpointRefs,
  EntityLineMatcher,
  type FoundRef,
} from './checkpoint-reader.js'
export {
  type AttentionEntity,
  alertFacts,
  alertKinds,
  attentionOf,
  classOf,
  deliveryTriesOf,
  type Effect,
  effectOf,
  entersActivity,
  forgetsRevision,
  isAccountAlertKind,
  isAlertKind,
  isNews,
  isRegistryFamily,
  isRegistryGenesis,
  sectionsOf,
  wakeClassOf,
} from './classify.js'
export {
  type ConsumerCursor,
  type Cursor,
  formatConsumerCursor,
  formatCursor,
  formatCursorToken,
  parseConsumerCursor,
  parseCursor,
  parseCursorToken,
  parseWatermark,
  type Watermark,
} from './cursor.js'
export {
  compareUtf8,
  type DigestEntity,
  entityHash,
  jcs,
  payloadHash,
  projectionDigest,
  sha256Hex,
} from './digest.js'
export { type Entity, EntityTable, type Revision, type TableEntry, upsertedEntity } from './entity-table.js'
export { type ErrorCode, errorCodes, invariant, KimError } from './errors.js'
export { eventIdOf, nonceOf } from './event-id.js'
export { nextTurn, runAtOnce, Signal, type Slices, type Timers } from './event-loop.js'
export {
  Continuity,
  Fold,
  type FoldedRecord,
  type FoldStart,
  type Head,
  repairedBy,
  type SeqRange,
} from './fold.js'
export { type AccountAlertKind, type AlertKind, actionClasses } from './generated/action-classes.js'
export { type AnomalyKind, anomalies } from './generated/anomalies.js'
export {
  exceedsNesting,
  isCount,
  isJsonObject,
  isSeq,
  isSha256,
  type JsonObject,
  type JsonValue,
  toWellFormed,
} from './json.js'
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
  type Environment,
  eventsPaths,
  isBlobDirectory,
  isMisnamedSegment,
  parseArchivedSegmentName,
  parseCheckpointName,
  parseSegmentName,
  parseTempName,
  type StorePaths,
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
export { announcedLoss, encodeMeta, type Meta, parseMeta } from './meta.js'
export {
  type Actor,
  type EventRecord,
  encodeRecord,
  entityKey,
  faultOf,
  JournalTime,
  type MalformedReason,
  type PayloadRef,
  parsePayload,
  type ReadRecord,
  type RecordClocks,
  type Tx,
} from './record.js'
export { type AsyncReplaceDisk, type ReplaceDisk, replaceFile, replaceFileAsync } from './replace-file.js'
export { RingBuffer } from './ring-buffer.js'
export { isPeakBefore, lastSeqOf, recordsBackwards } from './segment-backwards.js'
export {
  type MalformedLine,
  type PlainLine,
  type RestartListener,
  readSegment,
  recordOf,
  SegmentLine,
  type SegmentListener,
  SegmentReader,
  type UnterminatedLine,
} from './segment-reader.js'
export { classifyTail, TAIL_ROWS, type TailAction, type TailFeatures, type TailLabel } from './tail-state.js'
export { formatCount, safeJson, safeText } from './text.js'

export { ActionEffects } from './action-effects.js'
export type {
  CheckpointFacts,
  CheckpointFault,
  CheckpointHeader,
  CheckpointRef,
  KeyEntry,
  ParsedHeader,
} from './checkpoint.js'
export {
  afterCheckpointHeader,
  checkpointFooter,
  checkpointKey,
  checkpointVersion,
  encodeCheckpoint,
  encodeCheckpointEntity,
  encodeCheckpointHeader,
  endsCheckpointHeader,
  headOf,
  inCheckpointOrder,
  parseCheckpointEntity,
  parseCheckpointHeader,
  parseCheckpointRef,
  registryCapability,
  registryOfAllCapability,
  revisionsInOrder,
  verifyHeader,
} from './checkpoint.js'
export { type CheckpointLine, CheckpointReader, CheckpointRefs, type FoundRef } from './checkpoint-reader.js'
export type { AlertFacts, AttentionEntity, Classifiable, Effect } from './classify.js'
export {
  alertFacts,
  alertKinds,
  attentionOf,
  classOf,
  deliveryTriesOf,
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
export { encodeRecord, type MalformedReason, parsePayload } from './codec.js'
export { Continuity, repairedBy, type SeqRange } from './continuity.js'
export type { ConsumerCursor, Cursor, CursorToken, Watermark } from './cursor.js'
export {
  formatConsumerCursor,
  formatCursor,
  formatCursorToken,
  parseConsumerCursor,
  parseCursor,
  parseCursorToken,
  parseWatermark,
} from './cursor.js'
export { type DigestEntity, entityHash, jcs, payloadHash, projectionDigest, sha256Hex } from './digest.js'
export type { Duplicate } from './duplicates.js'
export { type Entity, type Revision, upsertedEntity } from './entity.js'
export { EntityLineMatcher } from './entity-line.js'
export { EntityTable, type KeyBytes, type TableEntry } from './entity-table.js'
export type {
  Actor,
  EventRecord,
  JsonObject,
  JsonValue,
  PayloadRef,
  ReadRecord,
  RecordClocks,
  Tx,
} from './envelope.js'
export { entityKey, isCount, isJsonObject, isPayloadRef, isSeq, isSha256 } from './envelope.js'
export { type ErrorCode, errorCodes, KimError, type KimErrorOptions, type Retry } from './errors.js'
export { eventIdOf, nonceOf } from './event-id.js'
export type {
  AnomalyCounts,
  FoldedRecord,
  FoldOptions,
  FoldStart,
  Head,
  ImageMaker,
  RepeatJudge,
} from './fold.js'
export { Fold } from './fold.js'
export { formatCount } from './format-count.js'
export type {
  AccountAlertKind,
  ActionClass,
  AlertKind,
  KnownEvent,
  KnownItemType,
  NoteKind,
  Section,
  Verb,
  WakeClass,
} from './generated/action-classes.js'
export { actionClasses } from './generated/action-classes.js'
export { type AnomalyKind, anomalies } from './generated/anomalies.js'
export { InvariantError, invariant } from './invariant.js'
export { JournalTime } from './journal-time.js'
export { exceedsNesting } from './json-bounds.js'
export type { ArchivedSegment, Environment, EventsPaths, StorePaths } from './layout.js'
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
export type { Limits } from './limits.js'
export {
  assertLimits,
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
export type { AsyncReplaceDisk, ReplaceDisk, Replacement } from './replace-file.js'
export { replaceFile, replaceFileAsync } from './replace-file.js'
export { RingBuffer } from './ring-buffer.js'
export { safeJson } from './safe-json.js'
export { safeText } from './safe-text.js'
export { type BackwardSource, isPeakBefore, lastSeqOf, recordsBackwards } from './segment-backwards.js'
export type {
  LineLocation,
  MalformedLine,
  PlainLine,
  ReadingMode,
  RestartListener,
  SegmentListener,
  UnterminatedLine,
} from './segment-reader.js'
export { readSegment, recordOf, SegmentLine, SegmentReader } from './segment-reader.js'
export { Signal, type Timers } from './signal.js'
export { nextTurn, runAtOnce, type Slices } from './slices.js'
export type { TailAction, TailFeatures, TailLabel, TailRow } from './tail-state.js'
export { classifyTail, TAIL_ROWS } from './tail-state.js'
export { compareUtf8 } from './utf8-order.js'
export { toWellFormed } from './well-formed.js'
export { faultOf } from './writer-rules.js'

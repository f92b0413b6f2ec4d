/** Erases content from segments, checkpoints and blobs, and finishes the redactions that a crash interrupted. */
import { Buffer } from 'node:buffer'
import { basename, dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import {
  CheckpointReader,
  type Entity,
  encodeCheckpointEntity,
  isCount,
  isJsonObject,
  isSha256,
  type JsonObject,
  type JsonValue,
  jcs,
  type ReadRecord,
  runAtOnce,
  SegmentReader,
  sha256Hex,
  tempName,
} from '@kim/manifest'
import { removeBlobsExcept } from './blobs.js'
import { buildCheckpoint, type EntityLine } from './checkpoint.js'
import { damaged, isDamaged, isNoSpace } from './disk-errors.js'
import {
  listCheckpoints,
  listSegmentCopies,
  listSegments,
  readSegmentFile,
  type SegmentFile,
  segmentChunks,
} from './listing.js'
import type { Session } from './open.js'
import type { Store } from './store.js'

/** Whose content is erased. */
export interface RedactedEntity {
  readonly item_type: string
  readonly item_id: string
}

/** The name under which a segment's new bytes wait. */
export function waitingPath(file: SegmentFile): string {
  return join(dirname(file.path), tempName(basename(file.path)))
}

/** Writes a segment's new bytes, durable but not yet in place. */
export function writeWaiting({ disk }: Store, file: SegmentFile, bytes: Buffer): void {
  const path = waitingPath(file)
  const fd = disk.createTemp(path)
  try {
    disk.write(fd, file.isGzipped ? gzipSync(bytes) : bytes, path)
    disk.syncFile(fd, path)
  } finally {
    disk.close(fd)
  }
}

/** Length and digest of a segment as notes state them: of the unpacked bytes. */
export type SegmentDigest = { readonly bytes: number; readonly sha256: string }

export function segmentDigestOf(bytes: Buffer): SegmentDigest {
  return { bytes: bytes.length, sha256: sha256Hex(bytes) }
}

/** One segment in a redaction's note. */
export type RedactedFile = {
  readonly segment: string
  readonly before: SegmentDigest
  readonly after: SegmentDigest
}

/** One note of a redaction. */
export interface Redaction {
  readonly seq: number
  readonly entity: RedactedEntity
  readonly files: readonly RedactedFile[]
}

function digestIn(value: JsonValue | undefined): SegmentDigest | undefined {
  if (!isJsonObject(value)) return undefined
  const { bytes, sha256 } = value
  return isCount(bytes) && isSha256(sha256) ? { bytes, sha256 } : undefined
}

function fileIn(value: JsonValue): RedactedFile[] {
  if (!isJsonObject(value) || typeof value['segment'] !== 'string') return []
  const before = digestIn(value['before'])
  const after = digestIn(value['after'])
  return before === undefined || after === undefined ? [] : [{ segment: value['segment'], before, after }]
}

function redactionIn({ seq, payload }: ReadRecord): Redaction[] {
  const { item_type, item_id, files }: JsonObject = payload ?? {}
  if (typeof item_type !== 'string' || typeof item_id !== 'string' || !Array.isArray(files)) return []
  return [{ seq, entity: { item_type, item_id }, files: files.flatMap(fileIn) }]
}

/**
 * Finishes the redactions that the journal announces and that a crash interrupted. Every step may be done
 * twice. Returns true if files were replaced, so that whatever was derived from them is stale.
 */
export function finishRedactions(session: Session): boolean {
  const redactions = session.redactions.flatMap(redactionIn)
  const last = redactions.at(-1)
  if (last === undefined) return false
  const { base } = session.upkeep
  if (base !== undefined && base.refSeq > last.seq) {
    // The checkpoint without the old content is there, so everything before it was done.
    removeOlderCheckpoints(session.store, base.header.head_seq)
    return false
  }
  let isApplied = false
  try {
    applyRedactions(session.store, redactions)
    isApplied = true
    eraseRest(session, redactions)
  } catch (error) {
    // A segment that is something else now is for a person to judge (D8).
    if (!isNoSpace(error) && !(isApplied && isDamaged(error))) throw error
    // The next open tries again.
    session.upkeep.hold()
    session.store.log({
      level: 'error',
      code: 'redaction_pending',
      message: `cannot finish a redaction: ${error.message}`,
      hint: `${isNoSpace(error) ? 'free some disk space' : 'restore that file from a copy made before the redaction'}, then start again; until then no checkpoint is written, and the store still holds the content to erase`,
    })
  }
  return true
}

/** Puts every announced file into place. */
export function applyRedactions(store: Store, redactions: readonly Redaction[]): void {
  const directories = new Set<string>()
  for (const { first, others } of listSegmentCopies(store)) {
    const own = redactions.flatMap(({ entity, files }) =>
      files.filter(({ segment }) => segment === first.name).map(change => ({ entity, change })),
    )
    if (own.length === 0) continue
    for (const { entity, change } of own)
      applyOne(store, first, change, entity, laterDigests(redactions, change))
    const entities = own.map(({ entity }) => entity)
    for (const file of others) eraseCopy(store, file, entities)
    for (const { path } of [first, ...others]) directories.add(dirname(path))
  }
  for (const directory of directories) store.disk.syncDirectory(directory)
}

/**
 * Erases content from another copy of a segment, which no reader uses and no note names. A copy that cannot be unpacked
 * is removed: nothing is lost with it.
 */
function eraseCopy(store: Store, file: SegmentFile, entities: readonly RedactedEntity[]): void {
  let bytes: Buffer
  try {
    bytes = readSegmentFile(store, file)
  } catch (error) {
    if (!isDamaged(error)) throw error
    store.log({
      level: 'warn',
      code: 'archive_broken',
      message: `removed ${file.path}: it was a damaged second copy of a segment, and no record is lost`,
      hint: 'do not restore it from a backup: that copy may hold the content to erase',
    })
    store.disk.removeNow(file.path)
    return
  }
  const erased = eraseInSegment(bytes, entities)
  if (erased.lines === 0) return
  writeWaiting(store, file, erased.bytes)
  store.disk.rename(waitingPath(file), file.path)
}

/** What later redactions made of a file. */
function laterDigests(redactions: readonly Redaction[], change: RedactedFile): Set<string> {
  const reached = new Set([change.after.sha256])
  for (const { files } of redactions) {
    for (const { segment, before, after } of files) {
      if (segment === change.segment && reached.has(before.sha256)) reached.add(after.sha256)
    }
  }
  return reached
}

/** Replaces one file unless that is done. Its directory has to be synced either way: the rename may not be durable. */
function applyOne(
  store: Store,
  file: SegmentFile,
  { before, after }: RedactedFile,
  entity: RedactedEntity,
  later: ReadonlySet<string>,
): void {
  const { disk } = store
  const temp = waitingPath(file)
  const present = readSegmentFile(store, file)
  const sha256 = sha256Hex(present)
  if (later.has(sha256)) {
    disk.removeNow(temp)
    return
  }
  if (sha256 !== before.sha256) throw damaged(`${file.path} was changed or damaged after its redaction began`)
  if (!isWaiting(store, file, after)) {
    const { bytes } = eraseInSegment(present, [entity])
    if (sha256Hex(bytes) !== after.sha256)
      throw damaged(
        `${file.path} does not fit the note of its redaction: erasing would give other bytes than the note states`,
      )
    writeWaiting(store, file, bytes)
  }
  disk.rename(temp, file.path)
}

function isWaiting(store: Store, file: SegmentFile, after: SegmentDigest): boolean {
  const temp = waitingPath(file)
  if (store.disk.look(temp) === undefined) return false
  try {
    return sha256Hex(readSegmentFile(store, file, temp)) === after.sha256
  } catch {
    return false
  }
}

/** What follows once the files are in place: blobs, the checkpoint, the older checkpoints. */
export function eraseRest(session: Session, redactions: readonly Redaction[]): void {
  const { store, state, projectId, history, upkeep } = session
  const entities = redactions.map(({ entity }) => entity)
  removeUnreferencedBlobs(session, entities)
  const { base } = upkeep
  const boundary = session.boundary ?? base?.header
  if (boundary === undefined || !history.isWhole) {
    // Nothing vouches for any checkpoint here, and none can be made.
    removeOlderCheckpoints(store, Number.POSITIVE_INFINITY)
    return
  }
  const rewrite = (line: EntityLine): EntityLine => eraseInCheckpoint(line, entities)
  upkeep.vouch(runAtOnce(buildCheckpoint(store, state, { boundary, projectId, base, rewrite })))
  removeOlderCheckpoints(store, boundary.head_seq)
}

function removeOlderCheckpoints(store: Store, headSeq: number): void {
  const { disk, paths } = store
  const older = listCheckpoints(store).filter(candidate => candidate.headSeq < headSeq)
  if (older.length === 0) return
  for (const { path } of older) disk.removeNow(path)
  disk.syncDirectory(paths.checkpoints)
  disk.syncDirectory(paths.archive)
}

/** Deletes the blobs to which no record and no checkpoint refers, except through the erased entities. */
function removeUnreferencedBlobs({ store, upkeep }: Session, entities: readonly RedactedEntity[]): void {
  const { disk, paths } = store
  if (disk.names(paths.blobs).length === 0) return
  const used = new Set<string>()
  for (const file of listSegments(store)) {
    const reader = new SegmentReader({
      valid: ({ record: { payload_ref } }) => void (payload_ref && used.add(payload_ref.sha256)),
    })
    for (const chunk of segmentChunks(store, file)) reader.push(chunk)
  }
  for (const { path } of listCheckpoints(store).filter(
    ({ headSeq }) => headSeq === upkeep.base?.header.head_seq,
  )) {
    const reader = new CheckpointReader(line => {
      const entity = line.entity()
      if (entity?.payload_ref !== undefined && !isAmong(entities, entity)) used.add(entity.payload_ref.sha256)
    })
    for (const chunk of disk.fileChunks(path)) reader.push(chunk)
  }
  removeBlobsExcept(store, used)
}

/** What replaces a payload. */
const ERASED: JsonObject = { redacted: true, schema_version: 1 }
const ERASED_SUMMARY = 'redacted'

function isErased(raw: JsonObject): boolean {
  const { payload, payload_ref, summary } = raw
  const emptied = payload === undefined || jcs(payload) === jcs(ERASED)
  return emptied && payload_ref === undefined && (summary === undefined || summary === ERASED_SUMMARY)
}

/** A segment's bytes with the content of some entities erased, and how many lines that changed. */
export function eraseInSegment(
  bytes: Buffer,
  entities: readonly RedactedEntity[],
): { readonly bytes: Buffer; readonly lines: number } {
  const parts: Buffer[] = []
  let lines = 0
  let kept = 0
  const reader = new SegmentReader({
    valid({ record, offset, length }) {
      if (!isAmong(entities, record) || isErased(record.raw)) return
      parts.push(bytes.subarray(kept, offset), erasedLine(record.raw))
      kept = offset + length
      lines++
    },
  })
  reader.push(bytes)
  return lines === 0 ? { bytes, lines } : { bytes: Buffer.concat([...parts, bytes.subarray(kept)]), lines }
}

/** The line of a record without what it said. */
function erasedLine({ payload, payload_ref, summary, ...rest }: JsonObject): Buffer {
  const erased: JsonObject = {
    ...rest,
    ...(payload === undefined && payload_ref === undefined ? {} : { payload: ERASED }),
    ...(summary === undefined ? {} : { summary: ERASED_SUMMARY }),
  }
  return Buffer.from(jcs(erased).replaceAll('\ufeff', '\\ufeff'))
}

type Named = Pick<ReadRecord, 'item_type' | 'item_id'>

function isAmong(entities: readonly RedactedEntity[], { item_type, item_id }: Named): boolean {
  return entities.some(entity => entity.item_type === item_type && entity.item_id === item_id)
}

/** The line of a checkpoint without what it said of the entity. */
function eraseInCheckpoint(line: EntityLine, entities: readonly RedactedEntity[]): EntityLine {
  if (!isAmong(entities, line.entity)) return line
  const entity: Entity = { ...line.entity, payload: ERASED, payload_ref: undefined }
  return { entity, text: encodeCheckpointEntity(entity, true) }
}

import { dirname, join } from 'node:path'
import {
  CheckpointReader,
  isBlobDirectory,
  isCount,
  isJsonObject,
  isSha256,
  type JsonObject,
  type JsonValue,
  KimError,
  parseTempName,
  type ReadRecord,
  runAtOnce,
  SegmentReader,
} from '@kim/manifest'
import { type Boundary, boundaryOf } from './boundary.js'
import { buildCheckpoint } from './checkpoint.js'
import { damaged, isNoSpace } from './failure.js'
import { listCheckpoints, listSegments, segmentChunks } from './listing.js'
import type { Opened } from './open.js'
import { eraseInCheckpoint, eraseInSegment, type RedactedEntity } from './redact-image.js'
import {
  listSegmentFiles,
  readSegmentFile,
  type SegmentDigest,
  type SegmentFile,
  segmentDigestOf,
  waitingPath,
  writeWaiting,
} from './segment-files.js'
import type { Store } from './store.js'
import type { Upkeep } from './upkeep.js'

/** What a redaction is finished with. */
export interface RedactionWork {
  readonly store: Store
  readonly opened: Opened
  readonly upkeep: Upkeep
  /** The end of the last sealed segment, if no checkpoint covers it. */
  readonly boundary: Boundary | undefined
}

/** One segment in a redaction's note. */
export interface RedactedFile {
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
export function finishRedactions(work: RedactionWork): boolean {
  const redactions = work.opened.redactions.flatMap(redactionIn)
  const last = redactions.at(-1)
  if (last === undefined) return false
  const base = work.upkeep.base
  if (base !== undefined && base.refSeq > last.seq) {
    // The checkpoint without the old content stands, so everything before it was done.
    removeOlderCheckpoints(work.store, base.headSeq)
    return false
  }
  try {
    applyRedactions(work.store, redactions)
  } catch (error) {
    // A segment that is something else now is for a person to judge (D8).
    if (!isNoSpace(error)) throw error
    putOff(work, error)
    return true
  }
  try {
    eraseRest(work, redactions)
  } catch (error) {
    if (!isNoSpace(error) && !isDamaged(error)) throw error
    putOff(work, error)
  }
  return true
}

function isDamaged(error: unknown): boolean {
  return error instanceof KimError && error.code === 'store_damaged'
}

/** The journal is what it is meanwhile; the next open tries again. */
function putOff({ store, upkeep }: RedactionWork, error: unknown): void {
  upkeep.hold()
  store.log({
    level: 'error',
    code: 'redaction_pending',
    message: `cannot finish a redaction: ${(error as Error).message}`,
    hint: 'correct this and start again; until then no checkpoint is written, and older checkpoints still hold the content to erase',
  })
}

/** Puts every announced file into place. */
export function applyRedactions(store: Store, redactions: readonly Redaction[]): void {
  const directories = new Set<string>()
  for (const { first, others } of listSegmentFiles(store)) {
    const own = redactions.flatMap(({ entity, files }) =>
      files.filter(({ segment }) => segment === first.name).map(change => ({ entity, change })),
    )
    for (const { entity, change } of own) {
      if (applyOne(store, first, change, entity, laterDigests(redactions, change)))
        directories.add(dirname(first.path))
    }
    if (own.length === 0) continue
    for (const file of others) {
      eraseCopy(
        store,
        file,
        own.map(({ entity }) => entity),
      )
      directories.add(dirname(file.path))
    }
  }
  for (const directory of directories) store.disk.syncDirectory(directory)
}

/**
 * Erases content from a copy that stands behind the file a segment is read from: nothing names it, whatever it
 * holds, and nobody misses one that cannot be unpacked.
 */
function eraseCopy(store: Store, file: SegmentFile, entities: readonly RedactedEntity[]): void {
  let bytes: Buffer
  try {
    bytes = readSegmentFile(store, file)
  } catch (error) {
    if (!isDamaged(error)) throw error
    store.log({ level: 'warn', code: 'archive_broken', message: `removed ${file.path}: it was damaged` })
    store.disk.removeNow(file.path)
    return
  }
  let lines = 0
  for (const entity of entities) {
    const erased = eraseInSegment(bytes, entity)
    bytes = erased.bytes
    lines += erased.lines
  }
  if (lines === 0) return
  writeWaiting(store, file, bytes)
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

/** Replaces one file if that is still owed; true if its directory has to be synced. */
function applyOne(
  store: Store,
  file: SegmentFile,
  { before, after }: RedactedFile,
  entity: RedactedEntity,
  later: ReadonlySet<string>,
): boolean {
  const { disk } = store
  const temp = waitingPath(file)
  const present = readSegmentFile(store, file)
  const { sha256 } = segmentDigestOf(present)
  if (later.has(sha256)) {
    disk.removeNow(temp)
    // The rename may not have been durable when its process died.
    return true
  }
  if (sha256 !== before.sha256) {
    throw damaged(`${file.path} was changed during a redaction`)
  }
  if (!waits(store, file, after)) {
    const { bytes } = eraseInSegment(present, entity)
    if (segmentDigestOf(bytes).sha256 !== after.sha256) {
      throw damaged(`${file.path}: the redaction has another result than it announced`)
    }
    writeWaiting(store, file, bytes)
  }
  disk.rename(temp, file.path)
  return true
}

function waits(store: Store, file: SegmentFile, after: SegmentDigest): boolean {
  const temp = waitingPath(file)
  if (store.disk.look(temp) === undefined) return false
  try {
    return segmentDigestOf(readSegmentFile(store, file, temp)).sha256 === after.sha256
  } catch {
    return false
  }
}

/** What follows once the files are in place: blobs, the checkpoint, the older checkpoints. */
export function eraseRest(work: RedactionWork, redactions: readonly Redaction[]): void {
  const { store, opened, upkeep } = work
  const entities = redactions.map(({ entity }) => entity)
  removeUnreferencedBlobs(work, entities)
  const base = upkeep.base
  const boundary = work.boundary ?? (base === undefined ? undefined : boundaryOf(base.header))
  if (boundary === undefined || !opened.history.isWhole) {
    // Nothing vouches for any checkpoint here, and none can be made.
    removeOlderCheckpoints(store, Number.POSITIVE_INFINITY)
    return
  }
  const segments = listSegments(store).filter(
    ({ number }) => number > (base?.headSeq ?? 0) && number <= boundary.segment,
  )
  const rewrite = (line: Parameters<typeof eraseInCheckpoint>[0]): ReturnType<typeof eraseInCheckpoint> =>
    eraseInCheckpoint(line, entities)
  const plan = { boundary, projectId: opened.projectId, base, segments, rewrite }
  upkeep.vouch(runAtOnce(buildCheckpoint(store, opened.state, plan)))
  removeOlderCheckpoints(store, boundary.headSeq)
}

function removeOlderCheckpoints(store: Store, headSeq: number): void {
  const { disk, paths } = store
  const older = listCheckpoints(store).filter(candidate => candidate.headSeq < headSeq)
  if (older.length === 0) return
  for (const { path } of older) disk.removeNow(path)
  disk.syncDirectory(paths.checkpoints)
  disk.syncDirectory(paths.archive)
}

/** Deletes what is in `blobs/` and what no record and no checkpoint refers to, the entities' own refs aside. */
function removeUnreferencedBlobs(
  { store, upkeep }: RedactionWork,
  entities: readonly RedactedEntity[],
): void {
  const { disk, paths } = store
  const directories = disk.names(paths.blobs)
  if (directories.length === 0) return
  const used = new Set<string>()
  for (const source of listSegments(store)) collectRefs(segmentChunks(store, source), used)
  for (const { headSeq, path } of listCheckpoints(store)) {
    if (headSeq === upkeep.base?.headSeq) collectEntityRefs(disk.fileChunks(path), entities, used)
  }
  for (const directory of directories) {
    const path = join(paths.blobs, directory)
    if (!isBlobDirectory(directory) || disk.look(path)?.isDirectory() !== true) continue
    for (const name of disk.names(path)) {
      // A blob whose writer died before it got its name holds content too. What is neither is not ours.
      const isLeft = isSha256(parseTempName(name)) || (isSha256(name) && !used.has(name))
      if (isLeft && disk.look(join(path, name))?.isFile() === true) disk.removeNow(join(path, name))
    }
    disk.syncDirectory(path)
  }
}

function collectRefs(chunks: Iterable<Buffer>, used: Set<string>): void {
  const reader = new SegmentReader({
    valid({ record: { payload_ref } }) {
      if (payload_ref !== undefined) used.add(payload_ref.sha256)
    },
  })
  for (const chunk of chunks) reader.push(chunk)
}

function collectEntityRefs(
  chunks: Iterable<Buffer>,
  entities: readonly RedactedEntity[],
  used: Set<string>,
): void {
  const reader = new CheckpointReader(line => {
    const entity = line.entity()
    if (entity?.payload_ref === undefined) return
    const isOwn = entities.some(e => e.item_type === entity.item_type && e.item_id === entity.item_id)
    if (!isOwn) used.add(entity.payload_ref.sha256)
  })
  for (const chunk of chunks) reader.push(chunk)
}

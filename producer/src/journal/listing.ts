/** The segments, checkpoints and temporary files of a store, and the bytes of a segment. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import {
  inSearchOrder,
  isMisnamedSegment,
  parseArchivedSegmentName,
  parseCheckpointName,
  parseSegmentName,
  parseTempName,
  segmentName,
} from '@kim/manifest'
import { damaged } from './disk-errors.js'
import type { Disk } from './file-ops.js'
import type { Store } from './store.js'

/** One file that holds a segment. */
export interface SegmentFile {
  readonly number: number
  /** Its plain name, as notes call it. */
  readonly name: string
  readonly path: string
  readonly isArchived: boolean
  readonly isGzipped: boolean
}

/** The file that a segment is read from, and its other copies: a move that was not finished leaves one (JF-7). */
export interface SegmentCopies {
  readonly first: SegmentFile
  readonly others: readonly SegmentFile[]
}

/** A file with the name of a checkpoint. */
export interface CheckpointCandidate {
  readonly headSeq: number
  readonly path: string
  readonly isArchived: boolean
}

/** Every segment with all its files, by number: live before archived, plain before gzipped. */
export function listSegmentCopies(
  { disk, paths }: Store,
  onMisnamed: (path: string) => void = () => undefined,
): SegmentCopies[] {
  const byNumber = new Map<number, SegmentFile[]>()
  const add = (file: SegmentFile): void => {
    const files = byNumber.get(file.number)
    if (files === undefined) byNumber.set(file.number, [file])
    else files.push(file)
  }
  for (const name of disk.names(paths.events)) {
    const number = parseSegmentName(name)
    const path = join(paths.events, name)
    if (number !== undefined) add({ number, name, path, isArchived: false, isGzipped: false })
    else if (isMisnamedSegment(name)) onMisnamed(path)
  }
  const archived = disk.names(paths.archive).flatMap(name => {
    const { first: number, gzipped: isGzipped } = parseArchivedSegmentName(name) ?? {}
    if (number === undefined || isGzipped === undefined) return []
    return [
      { number, name: segmentName(number), path: join(paths.archive, name), isArchived: true, isGzipped },
    ]
  })
  for (const file of archived.sort((a, b) => Number(a.isGzipped) - Number(b.isGzipped))) add(file)
  return [...byNumber.values()]
    .flatMap(([first, ...others]) => (first === undefined ? [] : [{ first, others }]))
    .sort((a, b) => a.first.number - b.first.number)
}

/** The file that each segment is read from, by number. */
export function listSegments(store: Store): SegmentFile[] {
  const onMisnamed = (path: string): void =>
    store.log({
      level: 'warn',
      code: 'segment_misnamed',
      message: `ignored ${path}: this is not a valid name of a segment`,
      hint: 'move the file away',
    })
  return listSegmentCopies(store, onMisnamed).map(({ first }) => first)
}

/** Every checkpoint candidate in the order of a search. */
export function listCheckpoints({ disk, paths }: Store): CheckpointCandidate[] {
  const listed = (directory: string, isArchived: boolean): CheckpointCandidate[] =>
    disk.names(directory).flatMap(name => {
      const headSeq = parseCheckpointName(name)
      return headSeq === undefined ? [] : [{ headSeq, path: join(directory, name), isArchived }]
    })
  return inSearchOrder(listed(paths.checkpoints, false), listed(paths.archive, true))
}

/** Files that a writer left unfinished, before they got their names. */
export function listTemps({ disk, paths }: Store): string[] {
  return [paths.events, paths.checkpoints, paths.archive].flatMap(directory =>
    disk
      .names(directory)
      .filter(name => parseTempName(name) !== undefined)
      .map(name => join(directory, name)),
  )
}

/** The bytes of a gzipped file. */
export function unpacked(disk: Disk, path: string): Buffer {
  const packed = wholeFile(disk, path)
  try {
    return gunzipSync(packed)
  } catch (cause) {
    throw damaged(`${path} cannot be unpacked`, cause)
  }
}

/** The unpacked bytes of a segment's file, or of another one in its place. */
export function readSegmentFile({ disk }: Store, file: SegmentFile, path: string = file.path): Buffer {
  return file.isGzipped ? unpacked(disk, path) : wholeFile(disk, path)
}

function wholeFile(disk: Disk, path: string): Buffer {
  const bytes = disk.readWhole(path)
  if (bytes === undefined) throw damaged(`${path} is missing`)
  return bytes
}

/** The unpacked bytes of a segment from a position on, in chunks that the caller may keep unless it gives memory. */
export function* segmentChunks(
  { disk }: Store,
  { path, isGzipped }: SegmentFile,
  from = 0,
  into?: Buffer,
): Generator<Buffer> {
  if (isGzipped) yield unpacked(disk, path).subarray(from)
  else yield* disk.fileChunks(path, from, into)
}

/** The first `length` bytes of chunks. */
export function* cutChunks(chunks: Iterable<Buffer>, length: number): Generator<Buffer> {
  let left = length
  for (const chunk of chunks) {
    yield chunk.subarray(0, left)
    left -= chunk.length
    if (left <= 0) return
  }
}

/** The SHA-256 of bytes that come in chunks. */
export function digestOfChunks(chunks: Iterable<Uint8Array>): string {
  const hash = createHash('sha256')
  for (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex')
}

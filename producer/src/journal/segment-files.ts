import { createHash } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { parseArchivedSegmentName, parseSegmentName, segmentName, tempName } from '@kim/manifest'
import { damaged } from './failure.js'
import type { Store } from './store.js'

/** One file that holds a segment; a move that was not finished leaves two of one number. */
export interface SegmentFile {
  readonly number: number
  /** Its plain name, as notes call it. */
  readonly name: string
  readonly path: string
  readonly isGzipped: boolean
}

/** Length and digest as notes state them: of the unpacked bytes. */
export interface SegmentDigest {
  readonly bytes: number
  readonly sha256: string
}

/** The file a segment is read from, and the copies of it that stand behind (JF-7). */
export interface SegmentCopies {
  readonly first: SegmentFile
  readonly others: readonly SegmentFile[]
}

/** Every segment with all its files: live before parked, plain before gzipped. */
export function listSegmentFiles(store: Store): SegmentCopies[] {
  const { disk, paths } = store
  const live = disk.names(paths.events).flatMap(name => {
    const number = parseSegmentName(name)
    return number === undefined ? [] : [{ number, name, path: join(paths.events, name), isGzipped: false }]
  })
  const parked = disk.names(paths.archive).flatMap(name => {
    const parsed = parseArchivedSegmentName(name)
    if (parsed === undefined) return []
    const { first: number, gzipped: isGzipped } = parsed
    return [{ number, name: segmentName(number), path: join(paths.archive, name), isGzipped }]
  })
  const byNumber = new Map<number, SegmentFile[]>()
  for (const file of [...live, ...parked.sort((a, b) => Number(a.isGzipped) - Number(b.isGzipped))]) {
    const files = byNumber.get(file.number)
    if (files === undefined) byNumber.set(file.number, [file])
    else files.push(file)
  }
  return [...byNumber.values()]
    .flatMap(([first, ...others]) => (first === undefined ? [] : [{ first, others }]))
    .sort((a, b) => a.first.number - b.first.number)
}

/** The unpacked bytes of a segment's file. */
export function readSegmentFile(store: Store, file: SegmentFile, path: string = file.path): Buffer {
  const bytes = store.disk.readWhole(path)
  if (bytes === undefined) throw damaged(`${path} is missing`)
  if (!file.isGzipped) return bytes
  try {
    return gunzipSync(bytes)
  } catch (cause) {
    throw damaged(`${path} cannot be unpacked`, cause)
  }
}

/** The name under which a segment's new bytes wait. */
export function waitingPath(file: SegmentFile): string {
  return join(dirname(file.path), tempName(basename(file.path)))
}

/** Writes a segment's new bytes, durable but not yet in place. */
export function writeWaiting(store: Store, file: SegmentFile, bytes: Buffer): void {
  const { disk } = store
  const path = waitingPath(file)
  const fd = disk.createTemp(path)
  try {
    disk.write(fd, file.isGzipped ? gzipSync(bytes) : bytes, path)
    disk.syncFile(fd, path)
  } finally {
    disk.close(fd)
  }
}

export function segmentDigestOf(bytes: Uint8Array): SegmentDigest {
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') }
}

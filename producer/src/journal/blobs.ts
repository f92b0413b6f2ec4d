/** Blobs: the files of payloads that are too large for a line of the journal. */
import { basename, dirname, join } from 'node:path'
import {
  blobPath,
  isBlobDirectory,
  isSha256,
  type JsonObject,
  type PayloadRef,
  parseTempName,
  sha256Hex,
  tempName,
} from '@kim/manifest'
import type { Store } from './store.js'

/**
 * Puts a payload into a blob, durably, and returns the reference for the line. The writer of a blob that is already
 * there may have died before the name was durable, so the directory is synced in any case.
 */
export function writeBlob(store: Store, bytes: Buffer): PayloadRef {
  const sha256 = sha256Hex(bytes)
  const path = join(store.paths.blobs, blobPath(sha256))
  const { disk, paths } = store
  const directory = dirname(path)
  disk.ownDirectory(directory)
  if (!holds(store, path, bytes)) disk.writeDurably(join(directory, tempName(basename(path))), path, [bytes])
  else disk.syncDirectory(directory)
  disk.syncDirectory(paths.blobs)
  return { sha256, bytes: bytes.length }
}

function holds(store: Store, path: string, bytes: Buffer): boolean {
  const stat = store.disk.look(path)
  if (stat === undefined || !stat.isFile() || stat.size !== bytes.length) return false
  return store.disk.readWhole(path)?.equals(bytes) === true
}

/** The payload in a blob; undefined if it is not there or not what the ref says. */
export function readBlobPayload(store: Store, ref: PayloadRef): JsonObject | undefined {
  const bytes = store.disk.readWhole(join(store.paths.blobs, blobPath(ref.sha256)))
  if (bytes === undefined || bytes.length !== ref.bytes || sha256Hex(bytes) !== ref.sha256) return undefined
  return JSON.parse(bytes.toString('utf8')) as JsonObject
}

/** Deletes the blobs that are not among the used ones, and those whose writer died before they got their name. */
export function removeBlobsExcept({ disk, paths }: Store, used: ReadonlySet<string>): void {
  for (const directory of disk.names(paths.blobs)) {
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

import { Buffer } from 'node:buffer'
import { basename, dirname, join } from 'node:path'
import {
  blobPath,
  type JsonObject,
  jcs,
  type PayloadRef,
  sha256Hex,
  tempName,
  toWellFormed,
} from '@kim/manifest'
import { checkOwn } from './safety.js'
import type { Store } from './store.js'

/** Where a blob stands. */
function blobFile(store: Store, sha256: string): string {
  return join(store.paths.blobs, blobPath(sha256))
}

/** The bytes that a payload's hash and blob are made of. */
export function payloadBytes(payload: JsonObject): Buffer {
  return Buffer.from(jcs(toWellFormed(payload)))
}

/**
 * Puts a payload into a blob, durably, and returns what stands for it in the line. A blob that is already there
 * may be one whose writer died before its name was durable, so its directory is synced again.
 */
export function writeBlob(store: Store, bytes: Buffer): PayloadRef {
  const sha256 = sha256Hex(bytes)
  const path = blobFile(store, sha256)
  const { disk, host, paths } = store
  const directory = dirname(path)
  const found = disk.look(directory)
  if (found === undefined) disk.makeDirectory(directory)
  else checkOwn(directory, found, host.uid)
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
  const bytes = store.disk.readWhole(blobFile(store, ref.sha256))
  if (bytes === undefined || bytes.length !== ref.bytes || sha256Hex(bytes) !== ref.sha256) return undefined
  return JSON.parse(bytes.toString('utf8')) as JsonObject
}

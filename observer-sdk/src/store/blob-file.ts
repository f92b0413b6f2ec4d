import { createHash } from 'node:crypto'
import { type PayloadRef, sha256Hex } from '@kim/manifest'
import { found, type ReadFailure, type ReadResult } from './read-result.js'
import { openBlob } from './store-files.js'

/** A blob that is there but is not what its name and the reference say. */
export interface BlobMismatch {
  readonly ok: false
  readonly reason: 'mismatch'
  readonly path: string
  readonly code: 'wrong_length' | 'wrong_hash'
}

/** Reads the payload that a reference names, whole, and only if it is exactly that. */
export function readBlob(eventsDir: string, ref: PayloadRef): ReadResult<Buffer> | BlobMismatch {
  const opened = openBlob(eventsDir, ref.sha256)
  if (!opened.ok) return opened
  const content = opened.value
  const path = content.candidate.path
  try {
    // Length first: a reference to a small payload never makes us hold a huge file.
    if (content.storedBytes !== ref.bytes)
      return { ok: false, reason: 'mismatch', path, code: 'wrong_length' }
    const bytes = content.read(0, ref.bytes)
    if (content.failure !== undefined) return content.failure
    if (sha256Hex(bytes) !== ref.sha256) return { ok: false, reason: 'mismatch', path, code: 'wrong_hash' }
    return found(bytes)
  } finally {
    content.close()
  }
}

/** Says whether a blob is what a reference says, in bounded memory. */
export function checkBlob(eventsDir: string, ref: PayloadRef): ReadFailure | BlobMismatch | undefined {
  const opened = openBlob(eventsDir, ref.sha256)
  if (!opened.ok) return opened
  const content = opened.value
  const path = content.candidate.path
  try {
    if (content.storedBytes !== ref.bytes)
      return { ok: false, reason: 'mismatch', path, code: 'wrong_length' }
    const hash = createHash('sha256')
    for (const chunk of content.chunks()) hash.update(chunk)
    if (content.failure !== undefined) return content.failure
    if (hash.digest('hex') === ref.sha256) return undefined
    return { ok: false, reason: 'mismatch', path, code: 'wrong_hash' }
  } finally {
    content.close()
  }
}

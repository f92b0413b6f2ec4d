/** Payloads that are too long for a line: each is a file of its own, named by its hash. */
import { createHash } from 'node:crypto'
import { type JsonObject, type PayloadRef, parsePayload, type ReadRecord, sha256Hex } from '@kim/manifest'
import { type FileContent, openBlob } from './file-content.js'
import { found, type ReadFailure, type ReadResult } from './read-only-fs.js'

/** A blob that exists but is not what its name and the reference say. */
export interface BlobMismatch {
  readonly ok: false
  readonly reason: 'mismatch'
  readonly path: string
  readonly code: 'wrong_length' | 'wrong_hash'
}

/** Reads the payload that a reference names, whole, and only if it is exactly that. */
export function readBlob(eventsDir: string, ref: PayloadRef): ReadResult<Buffer> | BlobMismatch {
  return useBlob(eventsDir, ref, content => {
    const value = content.read(0, ref.bytes)
    return { hash: sha256Hex(value), value }
  })
}

/** Says whether a blob is what a reference says, in bounded memory. */
export function checkBlob(eventsDir: string, ref: PayloadRef): ReadFailure | BlobMismatch | undefined {
  const checked = useBlob(eventsDir, ref, content => {
    const hash = createHash('sha256')
    for (const chunk of content.chunks()) hash.update(chunk)
    return { hash: hash.digest('hex'), value: undefined }
  })
  return checked.ok ? undefined : checked
}

/** A record's payload, from its blob if it is in one; undefined if there is none, or none that is whole. */
export function payloadOf(eventsDir: string, record: ReadRecord): JsonObject | undefined {
  if (record.payload !== undefined || record.payload_ref === undefined) return record.payload
  const blob = readBlob(eventsDir, record.payload_ref)
  return blob.ok ? parsePayload(blob.value.toString('utf8')) : undefined
}

function useBlob<T>(
  eventsDir: string,
  { bytes, sha256 }: PayloadRef,
  use: (content: FileContent) => { readonly hash: string; readonly value: T },
): ReadResult<T> | BlobMismatch {
  const opened = openBlob(eventsDir, sha256)
  if (!opened.ok) return opened
  const content = opened.value
  const mismatch = (code: BlobMismatch['code']): BlobMismatch => ({
    ok: false,
    reason: 'mismatch',
    path: content.candidate.path,
    code,
  })
  try {
    // Length first: a reference to a small payload never makes us hold a huge file.
    if (content.storedBytes !== bytes) return mismatch('wrong_length')
    const { hash, value } = use(content)
    if (content.failure !== undefined) return content.failure
    return hash === sha256 ? found(value) : mismatch('wrong_hash')
  } finally {
    content.close()
  }
}

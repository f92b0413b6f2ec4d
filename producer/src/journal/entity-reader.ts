import { join } from 'node:path'
import {
  blobPath,
  effectOf,
  type JsonObject,
  type PayloadRef,
  parseCheckpointEntity,
  type ReadRecord,
  recordOf,
  sha256Hex,
} from '@kim/manifest'
import { damaged } from './failure.js'
import { unpacked } from './listing.js'
import type { LiveEntity } from './state.js'
import type { Store } from './store.js'
import type { StoredLineLocation } from './store-file.js'

/** An entity as its newest record has it. */
export interface StoredEntity {
  readonly item_type: string
  readonly item_id: string
  readonly entity_rev: number | undefined
  readonly seq: number
  readonly agent: string | undefined
  readonly ts: string | undefined
  /** Also that of a blob; undefined only if the blob is missing or wrong. */
  readonly payload: JsonObject | undefined
  readonly payload_ref: PayloadRef | undefined
}

const OPEN_FILES_MAX = 4

/** Reads single lines from the disk. It keeps a few files open, because callers ask for neighbouring lines in turn. */
export class EntityReader {
  readonly #store: Store
  readonly #open: Map<string, number> = new Map()
  #unpacked: { readonly path: string; readonly bytes: Buffer } | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /** The bytes of one line. */
  line({ file, offset, length }: StoredLineLocation): Buffer {
    const { path } = file
    if (path.endsWith('.gz')) return this.#unpack(path).subarray(offset, offset + length)
    return this.#store.disk.readAt(this.#fd(path), path, offset, length)
  }

  /** A live entity with its payload. */
  view(entity: LiveEntity): StoredEntity {
    const { item_type, item_id, entity_rev, image: found } = entity
    const bytes = this.line(found)
    const record = recordOf(bytes)
    const image: Pick<ReadRecord, 'agent' | 'ts' | 'payload' | 'payload_ref'> | undefined =
      record !== undefined && effectOf(record) === 'upsert'
        ? record
        : parseCheckpointEntity(bytes.toString('utf8'))
    if (image === undefined) throw damaged(`${found.file.path}: no entity at byte ${found.offset}`)
    const { agent, ts, payload_ref } = image
    const payload =
      image.payload ?? (payload_ref === undefined ? undefined : readBlobPayload(this.#store, payload_ref))
    return { item_type, item_id, entity_rev, seq: found.seq, agent, ts, payload, payload_ref }
  }

  /** Closes every file: one that was replaced must be opened again. */
  close(): void {
    for (const fd of this.#open.values()) this.#store.disk.close(fd)
    this.#open.clear()
    this.#unpacked = undefined
  }

  #unpack(path: string): Buffer {
    if (this.#unpacked?.path !== path) this.#unpacked = { path, bytes: unpacked(this.#store.disk, path) }
    return this.#unpacked.bytes
  }

  #fd(path: string): number {
    const known = this.#open.get(path)
    if (known !== undefined) return known
    const [oldest] = this.#open
    if (this.#open.size >= OPEN_FILES_MAX && oldest !== undefined) {
      this.#open.delete(oldest[0])
      this.#store.disk.close(oldest[1])
    }
    const { fd } = this.#store.disk.openRead(path)
    this.#open.set(path, fd)
    return fd
  }
}

/** The payload in a blob; undefined if it is not there or not what the ref says. */
function readBlobPayload(store: Store, ref: PayloadRef): JsonObject | undefined {
  const bytes = store.disk.readWhole(join(store.paths.blobs, blobPath(ref.sha256)))
  if (bytes === undefined || bytes.length !== ref.bytes || sha256Hex(bytes) !== ref.sha256) return undefined
  return JSON.parse(bytes.toString('utf8')) as JsonObject
}

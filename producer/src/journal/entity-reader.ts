/** Reads entities of the state back from the disk. */
import {
  effectOf,
  type JsonObject,
  type PayloadRef,
  parseCheckpointEntity,
  type ReadRecord,
  recordOf,
} from '@kim/manifest'
import { readBlobPayload } from './blobs.js'
import { damaged } from './disk-errors.js'
import type { JournalState, LiveEntity, StoredLineLocation } from './journal-state.js'
import { unpacked } from './listing.js'
import type { Personas } from './persona.js'
import type { Store } from './store.js'

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
  line({ path, offset, length }: StoredLineLocation): Buffer {
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
    if (image === undefined) throw damaged(`${found.path}: no entity at byte ${found.offset}`)
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

/** A live entity as the writer knows it without reading the disk. */
export interface EntityOutline {
  readonly item_id: string
  /** The seq of its newest record. */
  readonly seq: number
  /** True for a message that its persona has read, or that was redacted. */
  readonly read: boolean
}

/** The state of an open journal: for each entity, its newest record. */
export class WriterState {
  readonly #state: JournalState
  readonly #reader: EntityReader

  constructor(state: JournalState, reader: EntityReader) {
    this.#state = state
    this.#reader = reader
  }

  /** How many entities are live. */
  get size(): number {
    return this.#state.entities.size
  }

  /** A live entity; its payload is read from the disk. */
  get(itemType: string, itemId: string): StoredEntity | undefined {
    const entity = this.#state.find(itemType, itemId)
    return entity === undefined ? undefined : this.#reader.view(entity)
  }

  /** Every live entity, or those of one type; each payload is read from the disk when its turn comes. */
  *values(itemType?: string): Generator<StoredEntity> {
    for (const entity of this.#state.live(itemType)) yield this.#reader.view(entity)
  }

  /** The live entities of one type without their payloads: nothing is read from the disk. */
  *outlines(itemType: string): Generator<EntityOutline> {
    for (const { item_id, image } of this.#state.live(itemType))
      yield { item_id, seq: image.seq, read: image.read }
  }

  /** True for a live entity; nothing is read from the disk. */
  has(itemType: string, itemId: string): boolean {
    return this.#state.entities.get(itemType, itemId) !== undefined
  }

  /** The last known revision of an entity, live or removed. */
  revisionOf(itemType: string, itemId: string): number | undefined {
    return this.#state.entities.revisionOf(itemType, itemId)
  }

  /** What the records say about each persona. */
  get personas(): Personas {
    return this.#state.personas(this)
  }

  /** What the journal has announced about itself, as its checkpoints state it (JF-71). */
  get capabilities(): ReadonlySet<string> {
    return this.#state.capabilities
  }
}

/** The same for programs that append: what the producer knows of its personas is its own. */
export type StoredState = Omit<WriterState, 'personas'>

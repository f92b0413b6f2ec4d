/** The payloads of entities, also those that are in blobs, and what an entity contributes to what is known of its persona. */
import {
  attentionOf,
  type Entity,
  isCount,
  type JsonObject,
  type PayloadRef,
  parsePayload,
} from '@kim/manifest'
import { readBlob } from '@kim/observer-sdk/history'
import type { FindingKind } from '@kim/observer-sdk/verify'

/** One entity, reduced to what is counted. */
export interface EntityFacts {
  /** The persona that it belongs to, if any. */
  readonly owner: string | undefined
  readonly kind: 'message' | 'alert' | 'persona' | 'other'
  readonly unread: boolean
  /** Number of a message. */
  readonly id: number
  /** An alert that is open. */
  readonly open: boolean
  /** How many things wait for a person because of it. */
  readonly attention: number
}

/** What an entity with this payload contributes. */
function entityFactsOf(entity: Entity, payload: JsonObject | undefined): EntityFacts {
  const { item_type } = entity
  const kind =
    item_type === 'message' || item_type === 'alert' || item_type === 'persona' ? item_type : 'other'
  return {
    owner: ownerOf(entity, payload),
    kind,
    unread: kind === 'message' && payload?.['read'] === false,
    id: kind === 'message' ? numberOf(entity, payload) : 0,
    open: kind === 'alert' && payload?.['status'] === 'open',
    attention: attentionOf([{ item_type, payload }]),
  }
}

/** A name may itself contain a slash: if the payload states the owner, the payload decides. */
function ownerOf({ item_type, item_id, agent }: Entity, payload: JsonObject | undefined): string | undefined {
  if (item_type === 'persona') return item_id
  if (item_type === 'message' || item_type === 'alert') {
    const stated = payload?.['persona']
    if (typeof stated === 'string') return stated
    const slash = item_id.lastIndexOf('/')
    if (slash > 0) return item_id.slice(0, slash)
  }
  return agent
}

function numberOf({ item_id }: Entity, payload: JsonObject | undefined): number {
  const stated = payload?.['id']
  return isCount(stated) ? stated : Number(/\/(\d+)$/.exec(item_id)?.[1] ?? 0)
}

/** A payload that an answer needed and that cannot be read. */
interface PayloadFault {
  readonly kind: Extract<FindingKind, 'blob_missing' | 'blob_mismatch' | 'unreadable'>
  /** The record whose payload is in the blob. */
  readonly seq: number | undefined
  readonly detail: string
}

/** Bytes of blobs whose payloads are kept: a question that is asked after each record needs the same ones again. */
const KEPT_BYTES = 32 * 1024 * 1024

/** A record or an entity, as far as its payload goes. */
type Held = Pick<Entity, 'payload' | 'payload_ref'> & Partial<Pick<Entity, 'seq'>>

/** What was read of a blob. */
interface Kept {
  readonly payload: JsonObject | undefined
  readonly bytes: number
}

/** Payloads of entities, read from their blobs if they are there. */
export class Payloads {
  readonly #eventsDir: string
  readonly #facts = new WeakMap<Entity, EntityFacts>()
  /** By hash, the least recently used first. */
  readonly #kept = new Map<string, Kept>()
  #keptBytes = 0
  readonly #faults = new Map<string, PayloadFault>()

  constructor(eventsDir: string) {
    this.#eventsDir = eventsDir
  }

  /** What could not be read so far, each blob once. */
  get faults(): Iterable<PayloadFault> {
    return this.#faults.values()
  }

  /** The payload; undefined if its blob cannot be read. */
  of({ payload, payload_ref: ref, seq }: Held): JsonObject | undefined {
    if (ref === undefined) return payload
    const kept = this.#kept.get(ref.sha256) ?? this.#read(ref, seq)
    this.#keep(ref.sha256, kept)
    return kept.payload
  }

  /** What an entity contributes. */
  facts(entity: Entity): EntityFacts {
    if (entity.payload_ref === undefined) return entityFactsOf(entity, entity.payload)
    const known = this.#facts.get(entity) ?? entityFactsOf(entity, this.of(entity))
    this.#facts.set(entity, known)
    return known
  }

  /** Reads what the facts of these need, the oldest first, so that it is known what cannot be read. */
  need(entities: Iterable<Entity>): this {
    const inBlobs: Entity[] = []
    for (const entity of entities) if (entity.payload_ref !== undefined) inBlobs.push(entity)
    for (const entity of inBlobs.sort((a, b) => a.seq - b.seq)) this.facts(entity)
    return this
  }

  #read(ref: PayloadRef, seq: number | undefined): Kept {
    const { sha256, bytes } = ref
    const read = readBlob(this.#eventsDir, ref)
    if (read.ok) return { payload: parsePayload(read.value.toString('utf8')), bytes }
    const kind =
      read.reason === 'absent' ? 'blob_missing' : read.reason === 'mismatch' ? 'blob_mismatch' : 'unreadable'
    this.#faults.set(sha256, { kind, seq, detail: `blob ${sha256}, ${bytes} bytes: ${read.code}` })
    return { payload: undefined, bytes: 0 }
  }

  #keep(sha256: string, kept: Kept): void {
    if (!this.#kept.delete(sha256)) this.#keptBytes += kept.bytes
    this.#kept.set(sha256, kept)
    for (const [oldest, { bytes }] of this.#kept) {
      if (this.#keptBytes <= KEPT_BYTES || oldest === sha256) return
      this.#kept.delete(oldest)
      this.#keptBytes -= bytes
    }
  }
}

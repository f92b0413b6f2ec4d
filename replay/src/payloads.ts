/** The payloads of entities, wherever they stand. */
import { type Entity, type JsonObject, type PayloadRef, parsePayload } from '@kim/manifest'
import { readBlob } from '@kim/observer-sdk/history'
import type { FindingKind } from '@kim/observer-sdk/verify'
import { type EntityFacts, entityFactsOf } from './entity-facts.js'

/** A payload that an answer needed and that could not be had. */
export interface PayloadFault {
  readonly kind: Extract<FindingKind, 'blob_missing' | 'blob_mismatch' | 'unreadable'>
  /** The record that keeps it in a blob. */
  readonly seq: number | undefined
  readonly detail: string
}

/** Bytes of blobs whose payloads are kept: a question that is asked after each record asks for the same ones. */
const KEPT_BYTES = 32 * 1024 * 1024

/** A record or an entity, as far as its payload goes. */
type Held = Pick<Entity, 'payload' | 'payload_ref'> & Partial<Pick<Entity, 'seq'>>

/** What was read of a blob. */
interface Kept {
  readonly payload: JsonObject | undefined
  readonly bytes: number
}

/** Payloads of entities, read from their blobs where they stand there. */
export class Payloads {
  readonly #eventsDir: string
  readonly #facts = new WeakMap<Entity, EntityFacts>()
  /** By hash, the least lately used first. */
  readonly #kept = new Map<string, Kept>()
  #keptBytes = 0
  readonly #faults = new Map<string, PayloadFault>()

  constructor(eventsDir: string) {
    this.#eventsDir = eventsDir
  }

  /** What could not be had so far, each blob once. */
  get faults(): Iterable<PayloadFault> {
    return this.#faults.values()
  }

  /** The payload; undefined where its blob cannot be had. */
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

  /** Reads what the facts of these need, so that it is known what cannot be had: the oldest first. */
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

/** The state a cold start found: where each entity's newest image stands, read when somebody asks. */
import type { Buffer } from 'node:buffer'
import {
  type Entity,
  entityKeyOf,
  idBytes,
  type JsonObject,
  type OldEntityTable,
  parseCheckpointEntity,
  parsePayload,
  type ReadRecord,
  recordOf,
} from '@kim/manifest'

/** A stretch of memory that images stand in: lines of the journal, or entity lines of a checkpoint. */
export interface Piece {
  readonly kind: 'journal' | 'checkpoint'
  readonly bytes: Buffer
  /** Segment number, or head of the checkpoint: where the bytes came from. */
  readonly origin: number
}

/** Entities by slot. A slot is a number that stands for one entity as long as the base lives. */
export class Base {
  readonly #table: OldEntityTable
  readonly #pieces: readonly Piece[]
  readonly #records: readonly ReadRecord[]
  readonly #counts = new Map<string, number>()
  #size = 0

  constructor(table: OldEntityTable, pieces: readonly Piece[], records: readonly ReadRecord[]) {
    this.#table = table
    this.#pieces = pieces
    this.#records = records
    const counts = new Int32Array(table.types.length)
    for (let slot = 0; slot < table.count; slot++) {
      if (table.live[slot] === 1)
        counts[table.type[slot] as number] = (counts[table.type[slot] as number] ?? 0) + 1
    }
    table.types.forEach((type, i) => {
      this.#counts.set(type, counts[i] ?? 0)
      this.#size += counts[i] ?? 0
    })
  }

  /** How many entities are live. */
  get size(): number {
    return this.#size
  }

  /** How many are live, by item type. */
  get counts(): ReadonlyMap<string, number> {
    return this.#counts
  }

  /** The slot of a live entity, or -1. */
  find(itemType: string, itemId: string): number {
    if (this.#table.typeIndexOf(itemType) < 0) return -1
    const slot = this.#table.find(entityKeyOf(itemType, itemId))
    return slot >= 0 && this.#table.live[slot] === 1 ? slot : -1
  }

  /** The slots of all live entities, or of those of one type, or of those whose id begins so. */
  *slots(itemType?: string, prefix = ''): Generator<number> {
    const table = this.#table
    const type = itemType === undefined ? -1 : table.typeIndexOf(itemType)
    if (itemType !== undefined && type < 0) return
    const beginning = idBytes(prefix)
    for (let slot = 0; slot < table.count; slot++) {
      const isMeant = table.live[slot] === 1 && (type < 0 || table.type[slot] === type)
      if (isMeant && table.hasPrefix(slot, beginning)) yield slot
    }
  }

  /** The item type of a slot's entity. */
  typeOf(slot: number): string {
    return this.#table.typeOf(slot)
  }

  /** The item id of a slot's entity. */
  idOf(slot: number): string {
    return this.#table.idOf(slot)
  }

  /** The `entity_rev` of a slot's image, if it has one. */
  revision(slot: number): number | undefined {
    const revision = this.#table.revision[slot] as number
    return revision < 0 ? undefined : revision
  }

  /** A slot's entity, parsed; undefined if its bytes are not what their frame promised. */
  read(slot: number): Entity | undefined {
    const piece = this.#table.piece[slot] as number
    if (piece < 0) return entityOf(this.#records[-piece - 1] as ReadRecord)
    const { kind, bytes } = this.#pieces[piece] as Piece
    const from = this.#table.offset[slot] as number
    const line = bytes.subarray(from, from + (this.#table.length[slot] as number))
    if (kind === 'checkpoint') return this.#readEntity(slot, line)
    const record = recordOf(line)
    return record && entityOf(record)
  }

  /**
   * A slot's payload alone; undefined if only `read` can tell. The rest of such a line was checked when it was
   * matched, so the line is what it seemed if its payload is JSON.
   */
  payload(slot: number): JsonObject | undefined {
    const length = this.#table.payloadLength[slot] as number
    if (length === 0) return undefined
    const { bytes } = this.#pieces[this.#table.piece[slot] as number] as Piece
    const from = (this.#table.offset[slot] as number) + (this.#table.payloadOffset[slot] as number)
    return parsePayload(bytes.toString('utf8', from, from + length))
  }

  #readEntity(slot: number, line: Buffer): Entity | undefined {
    const entity = parseCheckpointEntity(line.toString('utf8'))
    return entity?.item_type === this.typeOf(slot) && entity.item_id === this.idOf(slot) ? entity : undefined
  }

  /** What not to trust unread when a slot's image could not be read: a segment, or a checkpoint. */
  flaw(slot: number): Flaw {
    const { kind, origin } = this.#pieces[this.#table.piece[slot] as number] as Piece
    return kind === 'checkpoint' ? { checkpoint: origin } : { segment: origin }
  }

  /** A newer record has taken the entity over, or removed it. */
  drop(slot: number): void {
    this.#table.live[slot] = 0
    const type = this.typeOf(slot)
    this.#counts.set(type, (this.#counts.get(type) ?? 0) - 1)
    this.#size -= 1
  }
}

/** Where something looked right and was not: every line of such a segment is decoded, such a checkpoint left out. */
export type Flaw = { readonly segment: number } | { readonly checkpoint: number }

/** The image that a record makes of its entity. */
export function entityOf(record: ReadRecord): Entity {
  const { item_type, item_id = '', agent, entity_rev, payload, payload_ref, seq, ts } = record
  return { item_type, item_id, agent, entity_rev, payload, payload_ref, seq, ts }
}

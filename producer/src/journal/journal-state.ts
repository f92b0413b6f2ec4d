/** What the journal says is so: entities, removed revisions, keys, personas. And `meta.json`, which caches the next seq. */
import { basename, join } from 'node:path'
import {
  announcedLoss,
  type CheckpointHeader,
  doubled,
  type Effect,
  type Entity,
  type EntityTable,
  encodeMeta,
  Fold,
  type FoldedRecord,
  forgetsRevision,
  type Head,
  isKeyForgettable,
  isRegistryGenesis,
  JournalTime,
  type KeyEntry,
  KimError,
  limits,
  type Meta,
  parseMeta,
  type Revision,
  registryCapability,
  registryOfAllCapability,
  type SegmentLine,
  segmentName,
  type TableEntry,
  tempName,
} from '@kim/manifest'
import { type EntitySource, isRead, Personas } from './persona.js'
import type { Store } from './store.js'

/** Where a line is. */
export interface StoredLineLocation {
  /** The file that holds it. */
  readonly path: string
  readonly offset: number
  /** Without the `\n`, and without the comma of a checkpoint's line. */
  readonly length: number
}

/** What the writer keeps of a live entity. */
export interface NewestLine extends StoredLineLocation {
  readonly seq: number
  /** True for a message that its persona has read; retention asks. */
  readonly read: boolean
}

/** The cells of a line. */
const SEQ = 0
const OFFSET = 1
const LENGTH = 2
/** Twice the index of its file, and 1 more for a message that was read. */
const FILE = 3
const CELLS = 4

const INITIAL = 128

/**
 * The newest lines of live entities, by the numbers that the table of entities keeps as their images. Payloads stay on the disk, so
 * the writer's memory grows with the number of entities and not with their size; and an object for each message would be most of it.
 */
export class NewestLines {
  #cells = new Float64Array(INITIAL * CELLS)
  #count = 0
  readonly #free: number[] = []
  readonly #paths: string[] = []
  readonly #fileOf = new Map<string, number>()

  /** Keeps a line in place of the one with the number `before`; returns its number. */
  put({ seq, read, path, offset, length }: NewestLine, before: number | undefined): number {
    const number = before ?? this.#free.pop() ?? this.#count++
    const at = number * CELLS
    if (at >= this.#cells.length) this.#cells = doubled(this.#cells)
    this.#cells[at + SEQ] = seq
    this.#cells[at + OFFSET] = offset
    this.#cells[at + LENGTH] = length
    this.#cells[at + FILE] = this.#file(path) * 2 + (read ? 1 : 0)
    return number
  }

  /** A line as it is now. */
  get(number: number): NewestLine {
    const at = number * CELLS
    return {
      seq: this.seqOf(number),
      read: this.isRead(number),
      path: this.#paths[(this.#cells[at + FILE] as number) >>> 1] as string,
      offset: this.#cells[at + OFFSET] as number,
      length: this.#cells[at + LENGTH] as number,
    }
  }

  seqOf(number: number): number {
    return this.#cells[number * CELLS + SEQ] as number
  }

  /** True for a message that its persona has read. */
  isRead(number: number): boolean {
    return (this.#cells[number * CELLS + FILE] as number) % 2 === 1
  }

  /** The line with this number and this seq is in this file now; one that a newer line has replaced is left alone. */
  move(number: number, seq: number, { path, offset, length }: StoredLineLocation): void {
    if (this.seqOf(number) !== seq) return
    const at = number * CELLS
    this.#cells[at + OFFSET] = offset
    this.#cells[at + LENGTH] = length
    this.#cells[at + FILE] = this.#file(path) * 2 + (this.isRead(number) ? 1 : 0)
  }

  /** Its entity is not live any more: the number will be another line's. */
  drop(number: number): void {
    this.#cells[number * CELLS + SEQ] = 0
    this.#free.push(number)
  }

  #file(path: string): number {
    let file = this.#fileOf.get(path)
    if (file === undefined) {
      file = this.#paths.push(path) - 1
      this.#fileOf.set(path, file)
    }
    return file
  }
}

/** A live entity: its names and revision come from the table, the rest is its newest line. */
export type LiveEntity = TableEntry<NewestLine>

/** What of a record decides what it does to the state: one just written, or one that was read. */
export interface AppliedRecord extends FoldedRecord {
  readonly key?: string | undefined
  readonly ts?: string | undefined
}

function newestLine(
  { item_type, payload, seq }: Pick<Entity, 'item_type' | 'payload' | 'seq'>,
  { path, offset, length }: StoredLineLocation,
): NewestLine {
  return { seq, read: item_type === 'message' && isRead(payload), path, offset, length }
}

/** The fold of the journal's records, kept up to date by each commit. */
export class JournalState {
  readonly #fold: Fold<number> = new Fold<number>({
    of: ({ record, offset, length }, before) =>
      this.lines.put(newestLine(record, { path: this.#path, offset, length }), before),
  })
  /** The newest lines of the entities, by the images of the table. */
  readonly lines: NewestLines = new NewestLines()
  /** The last revisions of removed entities. */
  readonly removed: RemovedRevisions = new RemovedRevisions(this.entities)
  /** The file of the line that is folded now. */
  #path = ''
  readonly keys: KeyLedger = new KeyLedger()
  readonly capabilities: Set<string> = new Set()
  #personas: Personas | undefined

  /** The entities, to be read. */
  get entities(): EntityTable<number> {
    return this.#fold.entities
  }

  /** The highest seq of a valid record, and who wrote it. */
  get head(): Head {
    return this.#fold.head
  }

  /** A live entity. */
  find(itemType: string, itemId: string): LiveEntity | undefined {
    const slot = this.entities.slotOf(itemType, itemId)
    const image = slot < 0 ? undefined : this.entities.imageAt(slot)
    if (image === undefined) return undefined
    const entity_rev = this.entities.statedRevisionAt(slot)
    return { item_type: itemType, item_id: itemId, entity_rev, image: this.lines.get(image) }
  }

  /** The live entities, or those of one type. */
  *live(itemType?: string): Generator<LiveEntity> {
    for (const entity of this.entities.entries(itemType))
      yield { ...entity, image: this.lines.get(entity.image) }
  }

  /** The personas, from the first call on kept up to date. `source` reads the payloads of these entities. */
  personas(source: EntitySource): Personas {
    this.#personas ??= new Personas(source, this.head.seq)
    return this.#personas
  }

  /** Takes over a record whose line was just written to this place. */
  apply(record: AppliedRecord, effect: Effect, place: StoredLineLocation): void {
    const before = this.#fold.apply(record, effect, image => this.lines.put(newestLine(record, place), image))
    if (effect === 'remove' && before !== undefined) this.lines.drop(before)
    this.#follow(record, effect)
  }

  /** A record that was read in this file and has its effect. */
  released(line: SegmentLine, path: string): void {
    const { record, effect } = line
    const removed =
      effect === 'remove' ? this.entities.get(record.item_type, record.item_id ?? '') : undefined
    this.#path = path
    this.#fold.released(line)
    if (removed !== undefined) this.lines.drop(removed)
    this.#follow(record, effect)
  }

  /** Records that were read and have no effect: one may be the head nevertheless. */
  dropped(lines: readonly SegmentLine[]): void {
    this.#fold.dropped(lines)
  }

  /** An entity as a checkpoint states it. */
  load(entity: Entity, place: StoredLineLocation): void {
    const line = this.lines.put(newestLine(entity, place), undefined)
    this.#fold.load(entity.item_type, entity.item_id, line, entity.entity_rev)
  }

  /** Everything else that a checkpoint states. */
  loadHeader({ head_seq, head_writer, revisions, keys, capabilities }: CheckpointHeader): void {
    this.#fold.pass({ seq: head_seq, writer: head_writer ?? undefined })
    this.#fold.beginLive()
    for (const revision of revisions) {
      this.#fold.loadRevision(revision)
      // The checkpoint covers it, so the next one may forget it.
      this.removed.add(revision[0], revision[1], 0)
    }
    for (const [key, seq, ts] of keys) this.keys.record(seq, ts, key)
    for (const capability of capabilities) this.capabilities.add(capability)
  }

  /** What a record does besides its effect on an entity. */
  #follow(record: AppliedRecord, effect: Effect): void {
    const { item_type, item_id, seq } = record
    this.keys.record(seq, record.ts, record.key)
    if (item_id !== undefined && effect === 'remove') this.removed.add(item_type, item_id, seq)
    if (item_id !== undefined && effect === 'upsert') this.removed.delete(item_type, item_id)
    this.#personas?.apply(record, effect)
    if (effect !== 'meta' || !isRegistryGenesis(record)) return
    this.capabilities.add(registryCapability)
    if (record.payload?.['mode'] === 'all') this.capabilities.add(registryOfAllCapability)
  }
}

/**
 * The last revisions of entities that were removed. Those of a type that never comes back are kept until a checkpoint
 * covers them, and there are as many as messages come: then their slots in the table are other entities'.
 */
export class RemovedRevisions {
  readonly #entities: EntityTable<unknown>
  /** Slot to the seq of the last removal, for entities of such types, in the order of their removal. */
  readonly #forgettable: Map<number, number> = new Map()

  constructor(entities: EntityTable<unknown>) {
    this.#entities = entities
  }

  /** The record with this seq removed it; 0 if a checkpoint states that it was removed before. */
  add(itemType: string, itemId: string, seq: number): void {
    if (!forgetsRevision(itemType)) return
    const slot = this.#entities.slotOf(itemType, itemId)
    // Without a revision there is nothing to keep.
    if (slot < 0) return
    this.#forgettable.delete(slot)
    this.#forgettable.set(slot, seq)
  }

  /** It is live again. */
  delete(itemType: string, itemId: string): void {
    if (this.#forgettable.size === 0 || !forgetsRevision(itemType)) return
    this.#forgettable.delete(this.#entities.slotOf(itemType, itemId))
  }

  /** Forgets what a checkpoint up to this seq covers: a writer that opens from that checkpoint does not know it either. */
  forget(headSeq: number): void {
    for (const [slot, seq] of this.#forgettable) {
      if (seq > headSeq) continue
      this.#forgettable.delete(slot)
      this.#entities.forget(slot)
    }
  }

  /** Those that a checkpoint keeps: a type that never comes back needs none. */
  *entries(): Generator<Revision> {
    for (const revision of this.#entities.removed()) if (!forgetsRevision(revision[0])) yield revision
  }
}

interface Remembered {
  readonly seq: number
  /** The time of the journal when the key was used, in milliseconds. */
  readonly atMs: number
}

/** The idempotency keys of the journal: the first record with each key. */
export class KeyLedger {
  readonly #known: Map<string, Remembered> = new Map()
  readonly #time: JournalTime = new JournalTime()

  /** The seq of the record that carries this key. */
  find(key: string): number | undefined {
    return this.#known.get(key)?.seq
  }

  /** Takes over a record that has its effect. */
  record(seq: number, ts: string | undefined, key: string | undefined): void {
    this.#time.see(ts)
    if (key === undefined) return
    const atMs = this.#time.ms
    const first = this.#known.get(key)
    // The first record is the answer until it is old enough to be forgotten.
    if (Number.isNaN(atMs) || (first !== undefined && !isKeyForgettable(atMs - first.atMs))) return
    this.#known.set(key, { seq, atMs })
  }

  /** Forgets what is older than a client may retry. */
  forget(): void {
    const nowMs = this.#time.ms
    for (const [key, { atMs }] of this.#known) {
      if (isKeyForgettable(nowMs - atMs)) this.#known.delete(key)
    }
  }

  /** Everything remembered, in the order of seq. */
  entries(): KeyEntry[] {
    return [...this.#known]
      .map(([key, { seq, atMs }]): KeyEntry => [key, seq, new Date(atMs).toISOString()])
      .sort((a, b) => a[1] - b[1])
  }
}

/** By how many milliseconds, and by how many records, meta.json may be behind. */
const LAZY_MS = 1000
const LAZY_RECORDS = 5000

/** It is of constant size; a much longer file is not read. */
const META_BYTES_MAX = 4096

function readMeta({ disk, paths }: Store): Meta | undefined {
  try {
    const bytes = disk.readSmall(paths.meta, META_BYTES_MAX)
    return bytes === undefined ? undefined : parseMeta(bytes.toString('utf8'))
  } catch (error) {
    // It is only a cache; what cannot be read is replaced.
    if (!(error instanceof KimError)) throw error
    return undefined
  }
}

/** The project that meta.json names: the last word of a journal that has lost every record that does. */
export function projectInMeta(store: Store): string | undefined {
  const project = readMeta(store)?.project_id
  return project !== undefined && /^[0-9a-f]{32}$/.test(project) ? project : undefined
}

/**
 * The next seq to append. It is higher than that of the segments if meta.json shows, credibly, that the disk lost records
 * after they were announced.
 */
export function nextSeqByMeta(store: Store, projectId: string, nextSeq: number): number {
  const { paths, log } = store
  const meta = readMeta(store)
  if (meta === undefined) return nextSeq
  const lost = announcedLoss(meta, projectId, nextSeq)
  if (lost !== undefined) {
    log({
      level: 'error',
      code: 'records_lost',
      message: `the disk lost the records ${lost.from} to ${lost.to}`,
      hint: 'the seqs are skipped and noted in a seq_repair record; mail that the server still has is polled again',
    })
    return lost.to + 1
  }
  if (meta.project_id === projectId && meta.next_seq > nextSeq + limits.metaAheadRecordsMax) {
    log({
      level: 'warn',
      code: 'meta_ignored',
      message: `ignored ${paths.meta}: its next_seq is too far ahead of the journal`,
      hint: 'it is only a cache: nothing is lost, and you need to do nothing',
    })
  }
  return nextSeq
}

/** Reports that the records of an earlier journal are missing here: no other file shows it (R1). */
export function tellOfEarlier(store: Store): void {
  const { log, paths } = store
  const meta = readMeta(store)
  if (meta === undefined || meta.next_seq === 1) return
  log({
    level: 'error',
    code: 'records_lost',
    message: `all records of the journal in ${paths.events}, up to ${meta.next_seq - 1}, are missing: a new journal begins`,
    hint: 'mail on the server is recorded again, as on a first poll; if you have a backup, stop the producer, restore the store from it, and start again',
  })
}

/** Keeps meta.json near the truth, at leisure: a cache that is never worth a sync or a failure. */
export class MetaCache {
  readonly #store: Store
  readonly #projectId: string
  #writtenMs = Number.NEGATIVE_INFINITY
  #writtenSeq = 0

  constructor(store: Store, projectId: string) {
    this.#store = store
    this.#projectId = projectId
  }

  /** Writes the next seq, unless it was written a moment ago. */
  note(nextSeq: number, segment: number): void {
    const now = this.#store.clock.monoMs()
    if (now - this.#writtenMs < LAZY_MS && nextSeq - this.#writtenSeq < LAZY_RECORDS) return
    this.write(nextSeq, segment)
  }

  /** Writes the next seq now. */
  write(nextSeq: number, segment: number): void {
    if (nextSeq === this.#writtenSeq) return
    const { disk, paths, clock } = this.#store
    this.#writtenMs = clock.monoMs()
    this.#writtenSeq = nextSeq
    const text = encodeMeta({ project_id: this.#projectId, next_seq: nextSeq }, segmentName(segment))
    try {
      disk.writeLoosely(join(paths.events, tempName(basename(paths.meta))), paths.meta, Buffer.from(text))
    } catch (error) {
      if (!(error instanceof KimError)) throw error
      this.#store.log({ level: 'warn', code: 'meta_not_written', message: error.message, hint: error.hint })
    }
  }
}

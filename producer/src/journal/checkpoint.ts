import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { basename, join } from 'node:path'
import {
  type CheckpointHeader,
  type CheckpointRef,
  checkpointFooter,
  checkpointKey,
  checkpointName,
  compareUtf8,
  decodeLine,
  type Entity,
  effectOf,
  encodeCheckpointEntity,
  encodeCheckpointHeader,
  endsCheckpointHeader,
  LineFramer,
  parseCheckpointEntity,
  tempName,
  toWellFormed,
} from '@kim/manifest'
import type { Boundary } from './boundary.js'
import type { VerifiedCheckpoint } from './checkpoint-file.js'
import { damaged } from './failure.js'
import { type SegmentSource, segmentChunks } from './listing.js'
import { ReadBack } from './read-back.js'
import { type ScannedRecord, SegmentScan } from './segment-scan.js'
import type { JournalState, LiveEntity } from './state.js'
import type { Store } from './store.js'
import type { StoreFile } from './store-file.js'

/** Entities sorted, merged or written between two yields; bytes written between two syncs. */
const SLICE_ENTITIES = 512
const SYNC_BYTES = 1024 * 1024
const RUN_ENTITIES = 4096

/** What the sealed segments since the last checkpoint did to one entity: its newest line, or none. */
interface Change {
  readonly item_type: string
  /** Well-formed, as the lines of a checkpoint are ordered. */
  readonly item_id: string
  /** Where its newest line stands. There is one of these for every entity touched: a place of its own would add half. */
  file: StoreFile | undefined
  offset: number
  length: number
  /** The line itself where reading it again would mean unpacking its segment again. */
  line: Buffer | undefined
}

/** How a checkpoint is built. */
export interface CheckpointPlan {
  readonly boundary: Boundary
  readonly projectId: string
  /** The last verified one; without it everything is folded from the first segment. */
  readonly base: VerifiedCheckpoint | undefined
  /** The sealed segments after the base, in order. */
  readonly segments: readonly SegmentSource[]
  /** Changes the image of an entity; a redaction does. */
  readonly rewrite?: (line: EntityLine) => EntityLine
}

/** The image of one entity, and the line of a checkpoint that says it. */
export interface EntityLine {
  readonly entity: Entity
  readonly text: string
}

/** A checkpoint whose file is in place and that no ref vouches for yet. */
export interface BuiltCheckpoint {
  readonly ref: CheckpointRef
  readonly header: CheckpointHeader
  readonly file: StoreFile
  /** Makes the entities of a state that it holds point into it. */
  adopt(): void
}

type Order = Pick<Change, 'item_type' | 'item_id'>

/** As by their keys, which are only made where the types do not say it. */
function compare(a: Order, b: Order): number {
  if (a.item_type === b.item_type) return compareUtf8(a.item_id, b.item_id)
  const byKey = compareUtf8(checkpointKey(a.item_type, a.item_id), checkpointKey(b.item_type, b.item_id))
  return byKey || (a.item_type < b.item_type ? -1 : 1)
}

/**
 * Builds a checkpoint from the one before and the segments sealed since, in slices of a few milliseconds: the
 * caller goes on when it has nothing better to do. Memory holds one change per entity touched, no payloads.
 */
export function* buildCheckpoint(
  store: Store,
  state: JournalState,
  plan: CheckpointPlan,
): Generator<void, BuiltCheckpoint> {
  const changes = yield* foldSegments(store, state, plan.segments)
  const runs = yield* sortRuns(changes)
  const name = checkpointName(plan.boundary.headSeq)
  const path = join(store.paths.checkpoints, name)
  const temp = join(store.paths.checkpoints, tempName(name))
  const file: StoreFile = { path }
  const moved: LiveEntity[] = []
  const places: number[] = []
  const header = headerOf(plan)
  const readBack = new ReadBack(store)
  const writer = new DocumentWriter(store, temp)
  try {
    writer.put(`${encodeCheckpointHeader(header)}\n`)
    let count = 0
    for (const merged of merge(store, plan, runs, readBack)) {
      const { entity, text } = plan.rewrite?.(merged) ?? merged
      if (count > 0) writer.put(',\n')
      count++
      const live = state.find(entity.item_type, entity.item_id)
      const offset = writer.offset
      writer.put(text)
      if (live?.seq === entity.seq) {
        moved.push(live)
        places.push(offset, writer.offset - offset)
      }
      if (count % SLICE_ENTITIES === 0) {
        writer.flush()
        yield
      }
    }
    if (count > 0) writer.put('\n')
    if (count !== header.entity_count) {
      throw damaged(`${name}: the segments hold ${count} entities where ${header.entity_count} were counted`)
    }
    writer.put(`${checkpointFooter}\n`)
    writer.finish()
  } finally {
    readBack.close()
    writer.close()
  }
  yield
  store.disk.publish(temp, path)
  const ref: CheckpointRef = {
    file: basename(path),
    sha256: writer.sha256,
    bytes: writer.offset,
    head_seq: header.head_seq,
    entities: header.entity_count,
  }
  const adopt = (): void => {
    for (const [at, entity] of moved.entries()) {
      entity.file = file
      entity.offset = places[2 * at] ?? 0
      entity.length = places[2 * at + 1] ?? 0
    }
  }
  return { ref, header, file, adopt }
}

function headerOf({ boundary, projectId }: CheckpointPlan): CheckpointHeader {
  const { segment, sha256 } = boundary.sealed
  return {
    project_id: projectId,
    head_seq: boundary.headSeq,
    head_writer: boundary.headWriter,
    capabilities: boundary.capabilities,
    entity_count: boundary.entityCount,
    revisions: boundary.revisions,
    keys: boundary.keys,
    chain: { segment, sha256 },
  }
}

/** What the sealed segments did to the state, by type and id. */
function* foldSegments(
  store: Store,
  state: JournalState,
  segments: readonly SegmentSource[],
): Generator<void, Change[]> {
  const changes = new Changes(state)
  for (const source of segments) {
    const file: StoreFile = { path: source.path }
    const scan = new SegmentScan({
      effective: scanned => changes.note(scanned, file, source.isGzipped),
    })
    for (const chunk of segmentChunks(store, source)) {
      scan.push(chunk)
      yield
    }
    scan.finish()
  }
  return changes.all()
}

/** What segments did, gathered line by line. */
class Changes {
  readonly #state: JournalState
  readonly #byType = new Map<string, Map<string, Change>>()

  constructor(state: JournalState) {
    this.#state = state
  }

  note({ record, offset, length, bytes }: ScannedRecord, file: StoreFile, keepLine: boolean): void {
    const { item_type, item_id } = record
    const effect = effectOf(record)
    if (item_id === undefined || (effect !== 'upsert' && effect !== 'remove')) return
    const change = this.#changeOf(item_type, item_id)
    const stands = effect === 'upsert'
    change.file = stands ? file : undefined
    change.offset = offset
    change.length = length
    change.line = stands && keepLine ? Buffer.from(bytes) : undefined
  }

  all(): Change[] {
    return [...this.#byType.values()].flatMap(byId => [...byId.values()])
  }

  #changeOf(itemType: string, itemId: string): Change {
    let byId = this.#byType.get(itemType)
    if (byId === undefined) {
      byId = new Map()
      this.#byType.set(itemType, byId)
    }
    let change = byId.get(itemId)
    if (change === undefined) {
      // One name for all who hold it: the one just read is let go.
      const name = this.#state.find(itemType, itemId)?.item_id ?? itemId
      const item_id = toWellFormed(name)
      change = { item_type: itemType, item_id, file: undefined, offset: 0, length: 0, line: undefined }
      byId.set(name, change)
    }
    return change
  }
}

/** Sorting everything at once could take long, so it is sorted in runs that are merged as they are read. */
function* sortRuns(changes: readonly Change[]): Generator<void, Change[][]> {
  const runs: Change[][] = []
  for (let at = 0; at < changes.length; at += RUN_ENTITIES) {
    runs.push(changes.slice(at, at + RUN_ENTITIES).sort(compare))
    yield
  }
  return runs
}

/** The changes of all runs in their order. */
function* inOrder(runs: readonly (readonly Change[])[]): Generator<Change> {
  const at = runs.map(() => 0)
  for (;;) {
    let first: Change | undefined
    let from = -1
    for (const [n, run] of runs.entries()) {
      const candidate = run[at[n] ?? 0]
      if (candidate !== undefined && (first === undefined || compare(candidate, first) < 0)) {
        first = candidate
        from = n
      }
    }
    if (first === undefined) return
    at[from] = (at[from] ?? 0) + 1
    yield first
  }
}

/** The entity lines of a checkpoint, in its order. */
function* baseLines(store: Store, base: VerifiedCheckpoint | undefined): Generator<EntityLine> {
  if (base === undefined) return
  const framer = new LineFramer()
  let isHeader = true
  for (const chunk of store.disk.fileChunks(base.file.path)) {
    for (const line of framer.push(chunk)) {
      if (line.kind !== 'line') continue
      const whole = Buffer.from(line.bytes.buffer, line.bytes.byteOffset, line.bytes.length).toString('utf8')
      if (isHeader) {
        isHeader = !endsCheckpointHeader(whole)
        continue
      }
      if (whole === checkpointFooter) return
      const text = whole.endsWith(',') ? whole.slice(0, -1) : whole
      const entity = parseCheckpointEntity(text)
      if (entity === undefined) throw damaged(`${base.file.path} changed since it was verified`)
      yield { entity, text }
    }
  }
}

/** The base with the changes made in it. */
function* merge(
  store: Store,
  { base }: CheckpointPlan,
  runs: readonly (readonly Change[])[],
  readBack: ReadBack,
): Generator<EntityLine> {
  const changes = inOrder(runs)
  let next = changes.next()
  const emit = function* (change: Change): Generator<EntityLine> {
    const line = changedLine(change, readBack)
    if (line !== undefined) yield line
  }
  for (const line of baseLines(store, base)) {
    const { item_type, item_id } = line.entity
    const here = { item_type, item_id: toWellFormed(item_id) }
    let isReplaced = false
    while (next.done !== true && compare(next.value, here) <= 0) {
      isReplaced = compare(next.value, here) === 0
      yield* emit(next.value)
      next = changes.next()
    }
    if (!isReplaced) yield line
  }
  while (next.done !== true) {
    yield* emit(next.value)
    next = changes.next()
  }
}

/** The line of an entity as its newest record says; none if that removed it. */
function changedLine({ file, offset, length, line }: Change, readBack: ReadBack): EntityLine | undefined {
  if (file === undefined) return undefined
  const decoded = decodeLine(line ?? readBack.line({ file, offset, length }))
  if (decoded.kind !== 'record' || decoded.record.item_id === undefined) {
    throw damaged(`${file.path}: the record at byte ${offset} changed`)
  }
  const { item_type, item_id, agent, entity_rev, payload, payload_ref, seq, ts } = decoded.record
  const entity: Entity = { item_type, item_id, agent, entity_rev, payload, payload_ref, seq, ts }
  return { entity, text: encodeCheckpointEntity(entity, true) }
}

/** Writes a temporary document in chunks, so that neither a write nor a sync takes long. */
class DocumentWriter {
  readonly #store: Store
  readonly #path: string
  readonly #fd: number
  readonly #hash = createHash('sha256')
  #texts: string[] = []
  #unsynced = 0
  #offset = 0
  #isOpen = true

  constructor(store: Store, path: string) {
    this.#store = store
    this.#path = path
    this.#fd = store.disk.createTemp(path)
  }

  /** Bytes put so far. */
  get offset(): number {
    return this.#offset
  }

  get sha256(): string {
    return this.#hash.copy().digest('hex')
  }

  put(text: string): void {
    this.#texts.push(text)
    this.#offset += Buffer.byteLength(text)
  }

  flush(): void {
    if (this.#texts.length === 0) return
    const bytes = Buffer.from(this.#texts.join(''))
    this.#texts = []
    this.#hash.update(bytes)
    this.#store.disk.write(this.#fd, bytes, this.#path)
    this.#unsynced += bytes.length
    if (this.#unsynced < SYNC_BYTES) return
    this.#store.disk.syncData(this.#fd, this.#path)
    this.#unsynced = 0
  }

  /** Everything put is durable. */
  finish(): void {
    this.flush()
    this.#store.disk.syncFile(this.#fd, this.#path)
    this.close()
  }

  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#store.disk.close(this.#fd)
  }
}

import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { basename, join } from 'node:path'
import {
  type CheckpointHeader,
  CheckpointReader,
  type CheckpointRef,
  checkpointFooter,
  checkpointKey,
  checkpointName,
  compareUtf8,
  type Entity,
  effectOf,
  encodeCheckpointEntity,
  encodeCheckpointHeader,
  recordOf,
  type SegmentLine,
  SegmentReader,
  tempName,
  toWellFormed,
} from '@kim/manifest'
import type { Boundary } from './boundary.js'
import type { VerifiedCheckpoint } from './checkpoint-file.js'
import { damaged } from './failure.js'
import { type SegmentSource, segmentChunks } from './listing.js'
import { ReadBack } from './read-back.js'
import type { JournalState, LiveEntity } from './state.js'
import type { Store } from './store.js'
import type { Place, StoreFile } from './store-file.js'

/** Entities sorted, merged or written between two yields; bytes written between two syncs. */
const SLICE_ENTITIES = 512
const SYNC_BYTES = 1024 * 1024
const RUN_ENTITIES = 4096
/** Read at a time, into the same memory again and again: all that is read would else wait for the collector. */
const CHUNK_BYTES = 256 * 1024

/** The newest line of an entity in the sealed segments since the last checkpoint. */
interface Newest extends Place {
  /** The line itself where reading it again would mean unpacking its segment again. */
  readonly line: Buffer | undefined
}

/** What those segments did to the entities of each type: there is an entry for every entity touched, and nothing for a removed one. */
type Changes = ReadonlyMap<string, ReadonlyMap<string, Newest | undefined>>

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

/** Which entity; the lines of a checkpoint are in the order of these. */
interface Name {
  readonly item_type: string
  readonly item_id: string
}

/** As by their keys, which are only made where the types do not say it; 0 for the same name alone. */
function compare(a: Name, b: Name): number {
  if (a.item_type === b.item_type) return compareIds(a.item_id, b.item_id)
  const byKey = compareUtf8(checkpointKey(a.item_type, a.item_id), checkpointKey(b.item_type, b.item_id))
  return byKey || (a.item_type < b.item_type ? -1 : 1)
}

/** Ids that differ only where they are ill-formed have the same key, and are two nevertheless. */
const compareIds = (a: string, b: string): number =>
  compareUtf8(toWellFormed(a), toWellFormed(b)) || compareUtf8(a, b)

/**
 * Builds a checkpoint from the one before and the segments sealed since, in slices of a few milliseconds: the
 * caller goes on when it has nothing better to do. Memory holds one change per entity touched, no payloads.
 */
export function* buildCheckpoint(
  store: Store,
  state: JournalState,
  plan: CheckpointPlan,
): Generator<void, BuiltCheckpoint> {
  const memory = Buffer.allocUnsafe(CHUNK_BYTES)
  const changes = yield* foldSegments(store, state, plan.segments, memory)
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
    for (const merged of merge(store, plan, { changes, runs, readBack, memory })) {
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
  memory: Buffer,
): Generator<void, Changes> {
  const changes = new Map<string, Map<string, Newest | undefined>>()
  const note = ({ record, offset, length, bytes }: SegmentLine, file: StoreFile, isPacked: boolean): void => {
    const { item_type, item_id } = record
    const effect = effectOf(record)
    if (item_id === undefined || (effect !== 'upsert' && effect !== 'remove')) return
    const ofType = changes.get(item_type) ?? new Map<string, Newest | undefined>()
    changes.set(item_type, ofType)
    const line = isPacked ? Buffer.from(bytes) : undefined
    // One name for all who hold it: the one just read is let go.
    const name = ofType.has(item_id) ? item_id : (state.find(item_type, item_id)?.item_id ?? item_id)
    ofType.set(name, effect === 'upsert' ? { file, offset, length, line } : undefined)
  }
  for (const source of segments) {
    const file: StoreFile = { path: source.path }
    const reader = new SegmentReader({ released: line => note(line, file, source.isGzipped) })
    for (const chunk of segmentChunks(store, source, 0, memory)) {
      reader.push(chunk)
      yield
    }
  }
  return changes
}

/** Ids of one type in their order. */
interface Run {
  readonly item_type: string
  readonly ids: readonly string[]
}

/** Sorting everything at once could take long, so it is sorted in runs that are merged as they are read. */
function* sortRuns(changes: Changes): Generator<void, Run[]> {
  const runs: Run[] = []
  for (const [item_type, ofType] of changes) {
    const ids = [...ofType.keys()]
    for (let at = 0; at < ids.length; at += RUN_ENTITIES) {
      runs.push({ item_type, ids: ids.slice(at, at + RUN_ENTITIES).sort(compareIds) })
      yield
    }
  }
  return runs
}

/** The names of all runs in their order. */
function* inOrder(runs: readonly Run[]): Generator<Name> {
  const at = runs.map(() => 0)
  for (;;) {
    let first: Name | undefined
    let from = -1
    for (const [n, { item_type, ids }] of runs.entries()) {
      const item_id = ids[at[n] ?? 0]
      if (item_id === undefined) continue
      const candidate = { item_type, item_id }
      if (first === undefined || compare(candidate, first) < 0) {
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
function* baseLines(
  store: Store,
  base: VerifiedCheckpoint | undefined,
  memory: Buffer,
): Generator<EntityLine> {
  if (base === undefined) return
  let lines: EntityLine[] = []
  const reader = new CheckpointReader(line => {
    const entity = line.entity()
    if (entity === undefined) throw damaged(`${base.file.path} changed since it was verified`)
    lines.push({ entity, text: line.text })
  })
  for (const chunk of store.disk.fileChunks(base.file.path, 0, memory)) {
    reader.push(chunk)
    yield* lines
    lines = []
  }
}

/** What is merged into the base, and what with. */
interface Merging {
  readonly changes: Changes
  readonly runs: readonly Run[]
  readonly readBack: ReadBack
  /** To read chunks of the base into. */
  readonly memory: Buffer
}

/** The base with the changes made in it. */
function* merge(
  store: Store,
  { base }: CheckpointPlan,
  { changes, runs, readBack, memory }: Merging,
): Generator<EntityLine> {
  const names = inOrder(runs)
  let next = names.next()
  const emit = function* ({ item_type, item_id }: Name): Generator<EntityLine> {
    const newest = changes.get(item_type)?.get(item_id)
    if (newest !== undefined) yield changedLine(newest, readBack)
  }
  for (const line of baseLines(store, base, memory)) {
    let isReplaced = false
    while (next.done !== true && compare(next.value, line.entity) <= 0) {
      isReplaced = compare(next.value, line.entity) === 0
      yield* emit(next.value)
      next = names.next()
    }
    if (!isReplaced) yield line
  }
  while (next.done !== true) {
    yield* emit(next.value)
    next = names.next()
  }
}

/** The line of an entity as its newest record says. */
function changedLine({ line, ...place }: Newest, readBack: ReadBack): EntityLine {
  const record = recordOf(line ?? readBack.line(place))
  if (record?.item_id === undefined) {
    throw damaged(`${place.file.path}: the record at byte ${place.offset} changed`)
  }
  const { item_type, item_id, agent, entity_rev, payload, payload_ref, seq, ts } = record
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

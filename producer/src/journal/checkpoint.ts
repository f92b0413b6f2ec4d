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
  type EntityTable,
  encodeCheckpointEntity,
  encodeCheckpointHeader,
  Fold,
  recordOf,
  SegmentReader,
  tempName,
  toWellFormed,
} from '@kim/manifest'
import type { Boundary } from './boundary.js'
import type { VerifiedCheckpoint } from './checkpoint-file.js'
import { EntityReader } from './entity-reader.js'
import { damaged } from './failure.js'
import { type SegmentSource, segmentChunks } from './listing.js'
import type { JournalState, LiveImage } from './state.js'
import type { Store } from './store.js'
import type { StoredLineLocation, StoreFile } from './store-file.js'

/** Entities sorted, merged or written between two yields; bytes written between two syncs. */
const SLICE_ENTITIES = 512
const SYNC_BYTES = 1024 * 1024
const RUN_ENTITIES = 4096
/** Read at a time, into the same memory again and again: all that is read would else wait for the collector. */
const CHUNK_BYTES = 256 * 1024

/** The newest line of an entity in the sealed segments since the last checkpoint. */
interface Newest extends StoredLineLocation {
  /** The line itself where reading it again would mean unpacking its segment again. */
  readonly line: Buffer | undefined
}

/** Every entity that those segments touched; one that they removed has no image. */
type Changes = EntityTable<Newest>

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
  const changes = yield* foldSegments(store, plan.segments, memory)
  const runs = yield* sortRuns(changes)
  const name = checkpointName(plan.boundary.headSeq)
  const path = join(store.paths.checkpoints, name)
  const temp = join(store.paths.checkpoints, tempName(name))
  const file: StoreFile = { path }
  const moved: LiveImage[] = []
  const places: number[] = []
  const header = headerOf(plan)
  const readBack = new EntityReader(store)
  const writer = new DocumentWriter(store, temp)
  try {
    writer.put(`${encodeCheckpointHeader(header)}\n`)
    let count = 0
    for (const merged of merge(store, plan, { changes, runs, readBack, memory })) {
      const { entity, text } = plan.rewrite?.(merged) ?? merged
      if (count > 0) writer.put(',\n')
      count++
      const live = state.entities.get(entity.item_type, entity.item_id)
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
    for (const [at, image] of moved.entries()) {
      image.file = file
      image.offset = places[2 * at] ?? 0
      image.length = places[2 * at + 1] ?? 0
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

/** What the sealed segments did to the state. */
function* foldSegments(
  store: Store,
  segments: readonly SegmentSource[],
  memory: Buffer,
): Generator<void, Changes> {
  let file: StoreFile = { path: '' }
  let isPacked = false
  const fold = new Fold<Newest>(
    {
      of: read => ({
        file,
        offset: read.offset,
        length: read.length,
        line: isPacked ? Buffer.from(read.bytes) : undefined,
      }),
    },
    {},
    // The base may hold an entity of which these segments only say that it was removed.
    { keepsUnknown: true },
  )
  for (const source of segments) {
    file = { path: source.path }
    isPacked = source.isGzipped
    const reader = new SegmentReader(fold)
    for (const chunk of segmentChunks(store, source, 0, memory)) {
      reader.push(chunk)
      yield
    }
  }
  return fold.entities
}

/** Slots of entities of one type, in the order of their ids. */
interface Run {
  readonly item_type: string
  readonly slots: readonly number[]
}

/** Sorting everything at once could take long, so it is sorted in runs that are merged as they are read. */
function* sortRuns(changes: Changes): Generator<void, Run[]> {
  const byType = new Map<string, number[]>()
  for (const slot of changes.knownSlots()) {
    const item_type = changes.typeAt(slot)
    const slots = byType.get(item_type)
    if (slots === undefined) byType.set(item_type, [slot])
    else slots.push(slot)
  }
  const runs: Run[] = []
  for (const [item_type, slots] of byType) {
    for (let at = 0; at < slots.length; at += RUN_ENTITIES) {
      const named = slots.slice(at, at + RUN_ENTITIES).map(slot => ({ slot, item_id: changes.idAt(slot) }))
      named.sort((a, b) => compareIds(a.item_id, b.item_id))
      runs.push({ item_type, slots: named.map(({ slot }) => slot) })
      yield
    }
  }
  return runs
}

/** A touched entity. */
interface Touched extends Name {
  readonly slot: number
}

/** The touched entities of all runs in their order. */
function* inOrder(changes: Changes, runs: readonly Run[]): Generator<Touched> {
  const touched = ({ item_type, slots }: Run, at: number): Touched | undefined => {
    const slot = slots[at]
    return slot === undefined ? undefined : { item_type, item_id: changes.idAt(slot), slot }
  }
  const rest = runs.flatMap(run => {
    const next = touched(run, 0)
    return next === undefined ? [] : [{ run, at: 0, next }]
  })
  for (;;) {
    let first = rest[0]
    if (first === undefined) return
    for (const candidate of rest) if (compare(candidate.next, first.next) < 0) first = candidate
    yield first.next
    first.at += 1
    const next = touched(first.run, first.at)
    if (next === undefined) rest.splice(rest.indexOf(first), 1)
    else first.next = next
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
  readonly readBack: EntityReader
  /** To read chunks of the base into. */
  readonly memory: Buffer
}

/** The base with the changes made in it. */
function* merge(
  store: Store,
  { base }: CheckpointPlan,
  { changes, runs, readBack, memory }: Merging,
): Generator<EntityLine> {
  const names = inOrder(changes, runs)
  let next = names.next()
  const emit = function* ({ slot }: Touched): Generator<EntityLine> {
    const newest = changes.imageAt(slot)
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
function changedLine({ line, ...place }: Newest, readBack: EntityReader): EntityLine {
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

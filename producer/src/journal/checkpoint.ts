/** The checkpoint module of the writer: what one states, which one the journal vouches for, and how one is built. */
import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { basename, join } from 'node:path'
import {
  type CheckpointFile,
  type CheckpointHeader,
  CheckpointReader,
  type CheckpointRef,
  CheckpointVerifier,
  checkpointFooter,
  checkpointKey,
  checkpointName,
  compareUtf8,
  type Entity,
  type EntityTable,
  encodeCheckpointEntity,
  encodeCheckpointHeader,
  Fold,
  parseSegmentName,
  readSegment,
  recordOf,
  revisionsInOrder,
  runAtOnce,
  SegmentReader,
  type Slices,
  tempName,
  toWellFormed,
  upsertedEntity,
} from '@kim/manifest'
import { damaged } from './disk-errors.js'
import { EntityReader } from './entity-reader.js'
import { JournalState, type StoredLineLocation } from './journal-state.js'
import {
  type CheckpointCandidate,
  listCheckpoints,
  listSegments,
  type SegmentFile,
  segmentChunks,
} from './listing.js'
import type { Sealed } from './segment-scan.js'
import type { Store } from './store.js'

/** What a checkpoint states about the end of the sealed segment that it covers. */
export type Boundary = Omit<CheckpointHeader, 'project_id'>

/** What the state is now: a segment was just sealed, and the next one has no record yet. */
export function takeBoundary(state: JournalState, { segment, sha256 }: Sealed): Boundary {
  state.keys.forget()
  return {
    head_seq: state.head.seq,
    head_writer: state.head.writer,
    capabilities: [...state.capabilities].sort(),
    entity_count: state.entities.size,
    revisions: revisionsInOrder(state.removed.entries()),
    keys: state.keys.entries(),
    chain: { segment, sha256 },
  }
}

/** A checkpoint that its journal vouches for. */
export interface VerifiedCheckpoint {
  /** The seq of the record that vouches for it. */
  readonly refSeq: number
  readonly path: string
  readonly header: CheckpointHeader
}

/** A checkpoint file that was read, with the state it holds if that was asked for. */
interface ReadCheckpoint extends CheckpointFile {
  readonly path: string
  readonly state: JournalState | undefined
}

/** Finds out which checkpoints the journal vouches for, and loads their states if that is asked for. */
export function candidateVerifier(
  store: Store,
  segments: readonly SegmentFile[],
  projectId: string,
  { loads = false }: { readonly loads?: boolean } = {},
): CheckpointVerifier<CheckpointCandidate, ReadCheckpoint, SegmentFile> {
  return new CheckpointVerifier(
    {
      read: candidate => readCandidate(store, candidate, loads ? new JournalState() : undefined),
      // The newest ref counts: it says what the file was built after.
      segmentsFor: headSeq => segments.filter(({ number }) => number > headSeq).toReversed(),
      scan: (file, refs) => void readSegment(() => segmentChunks(store, file), refs, { isLazy: true }),
    },
    projectId,
  )
}

/** The newest checkpoint that the journal vouches for, with the state it holds. */
export function loadNewest(
  store: Store,
  segments: readonly SegmentFile[],
  projectId: string,
): { readonly checkpoint: VerifiedCheckpoint; readonly state: JournalState } | undefined {
  const verifier = candidateVerifier(store, segments, projectId, { loads: true })
  const { found, rejected } = runAtOnce(verifier.newest(listCheckpoints(store)))
  for (const { path } of rejected) {
    store.log({
      level: 'warn',
      code: 'checkpoint_rejected',
      message: `${path} cannot be used as a checkpoint (damaged, or not of this journal): opening takes longer, no record is lost`,
      hint: 'to move it away, stop the producer, then: kim-producer journal repair (with the same --store)',
    })
  }
  if (found?.file.state === undefined) return undefined
  const { path, header, state } = found.file
  return { checkpoint: { refSeq: found.refSeq, path, header }, state }
}

/** Reads a candidate in one pass: hash, header and entities. */
function* readCandidate(
  { disk }: Store,
  { path, headSeq }: CheckpointCandidate,
  state: JournalState | undefined,
): Slices<ReadCheckpoint | undefined> {
  if (disk.look(path)?.isFile() !== true) return undefined
  let isSound = true
  const reader = new CheckpointReader(line => {
    const entity = line.entity()
    if (entity === undefined) isSound = false
    else state?.load(entity, { path, offset: line.offset, length: line.length })
  })
  for (const chunk of disk.fileChunks(path)) {
    if (!reader.push(chunk) || !isSound) return undefined
    yield
  }
  const { header, bytes, sha256 } = reader
  if (header === undefined || reader.fault(headSeq) !== undefined) return undefined
  state?.loadHeader(header)
  return { name: basename(path), header, bytes, sha256, path, state }
}

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
  readonly path: string
  /** Makes the entities of a state that it holds point into it. */
  adopt(): void
}

/** Which entity; the lines of a checkpoint are in the order of these. */
type Name = Pick<Entity, 'item_type' | 'item_id'>

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
): Slices<BuiltCheckpoint> {
  const header: CheckpointHeader = { project_id: plan.projectId, ...plan.boundary }
  const memory = Buffer.allocUnsafe(CHUNK_BYTES)
  const changes = yield* foldSegments(store, plan, memory)
  const runs = yield* sortRuns(changes)
  const name = checkpointName(header.head_seq)
  const path = join(store.paths.checkpoints, name)
  const temp = join(store.paths.checkpoints, tempName(name))
  // Four numbers for each line that moves: there may be as many as entities.
  const moved: number[] = []
  const readBack = new EntityReader(store)
  const writer = new DocumentWriter(store, temp)
  try {
    writer.put(`${encodeCheckpointHeader(header)}\n`)
    let count = 0
    for (const merged of merge(baseLines(store, plan.base, memory), changes, runs, readBack)) {
      const { entity, text } = plan.rewrite?.(merged) ?? merged
      if (count > 0) writer.put(',\n')
      count++
      const live = state.entities.get(entity.item_type, entity.item_id)
      const offset = writer.offset
      writer.put(text)
      if (live !== undefined && state.lines.seqOf(live) === entity.seq)
        moved.push(live, entity.seq, offset, writer.offset - offset)
      if (count % SLICE_ENTITIES === 0) {
        writer.flush()
        yield
      }
    }
    if (count > 0) writer.put('\n')
    if (count !== header.entity_count) {
      throw damaged(
        `cannot write the checkpoint ${name}: the segments have ${count} entities, but the producer counted ${header.entity_count}; the earlier checkpoint stays in use`,
      )
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
    for (let at = 0; at < moved.length; at += 4) {
      const place = { path, offset: moved[at + 2] as number, length: moved[at + 3] as number }
      state.lines.move(moved[at] as number, moved[at + 1] as number, place)
    }
  }
  return { ref, header, path, adopt }
}

/** What the sealed segments after the base did to the state. */
function* foldSegments(store: Store, { base, boundary }: CheckpointPlan, memory: Buffer): Slices<Changes> {
  const after = base?.header.head_seq ?? 0
  const last = parseSegmentName(boundary.chain.segment) ?? 0
  let path = ''
  let isPacked = false
  const fold = new Fold<Newest>(
    {
      of: line => ({
        path,
        offset: line.offset,
        length: line.length,
        line: isPacked ? Buffer.from(line.bytes) : undefined,
      }),
    },
    {},
    // The base may hold an entity of which these segments only say that it was removed.
    { keepsUnknown: true },
  )
  for (const source of listSegments(store)) {
    if (source.number <= after || source.number > last) continue
    path = source.path
    isPacked = source.isGzipped
    const reader = new SegmentReader(fold)
    for (const chunk of segmentChunks(store, source, 0, memory)) {
      reader.push(chunk)
      yield
    }
  }
  return fold.entities
}

/** A touched entity. */
interface Touched {
  readonly item_type: string
  item_id: string
  slot: number
}

/** Touched entities of one type in the order of their ids: the next one, and the slots of all. */
interface Run extends Touched {
  readonly slots: readonly number[]
  at: number
}

/** Sorting everything at once could take long, so it is sorted in runs that are merged as they are read. */
function* sortRuns(changes: Changes): Slices<Run[]> {
  const byType = new Map<string, number[]>()
  for (const slot of changes.knownSlots()) {
    const item_type = changes.typeAt(slot)
    const slots = byType.get(item_type)
    if (slots === undefined) byType.set(item_type, [slot])
    else slots.push(slot)
  }
  const runs: Run[] = []
  for (const [item_type, all] of byType) {
    for (let at = 0; at < all.length; at += RUN_ENTITIES) {
      const named = all.slice(at, at + RUN_ENTITIES).map(slot => ({ slot, item_id: changes.idAt(slot) }))
      named.sort((a, b) => compareIds(a.item_id, b.item_id))
      const slots = named.map(({ slot }) => slot)
      for (const first of named.slice(0, 1)) runs.push({ item_type, ...first, slots, at: 0 })
      yield
    }
  }
  return runs
}

/** The touched entities of all runs in their order. */
function* inOrder(changes: Changes, runs: Run[]): Generator<Touched> {
  for (let rest = runs; rest.length > 0; ) {
    const first = rest.reduce((lowest, run) => (compare(run, lowest) < 0 ? run : lowest))
    const { item_type, item_id, slot } = first
    yield { item_type, item_id, slot }
    first.at += 1
    const next = first.slots[first.at]
    if (next === undefined) rest = rest.filter(run => run !== first)
    else {
      first.slot = next
      first.item_id = changes.idAt(next)
    }
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
    if (entity === undefined) throw damaged(`${base.path} changed since it was verified`)
    lines.push({ entity, text: line.text })
  })
  for (const chunk of store.disk.fileChunks(base.path, 0, memory)) {
    reader.push(chunk)
    yield* lines
    lines = []
  }
}

/** The lines of the base with the changes made in them. */
function* merge(
  base: Iterable<EntityLine>,
  changes: Changes,
  runs: Run[],
  readBack: EntityReader,
): Generator<EntityLine> {
  const names = inOrder(changes, runs)
  let next = names.next()
  const emit = function* ({ slot }: Touched): Generator<EntityLine> {
    const newest = changes.imageAt(slot)
    if (newest !== undefined) yield changedLine(newest, readBack)
  }
  for (const line of base) {
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
    throw damaged(`${place.path}: the record at byte ${place.offset} changed`)
  }
  const entity = upsertedEntity(record)
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
  /** Bytes put so far. */
  offset = 0
  #isOpen = true

  constructor(store: Store, path: string) {
    this.#store = store
    this.#path = path
    this.#fd = store.disk.createTemp(path)
  }

  get sha256(): string {
    return this.#hash.copy().digest('hex')
  }

  put(text: string): void {
    this.#texts.push(text)
    this.offset += Buffer.byteLength(text)
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

import { basename } from 'node:path'
import {
  type CheckpointHeader,
  CheckpointReader,
  type CheckpointRef,
  KimError,
  type LineFrame,
  parseCheckpointRef,
  type ReadRecord,
  readSegment,
  recordOf,
  runAtOnce,
  verifyHeader,
} from '@kim/manifest'
import { type CheckpointSource, type SegmentSource, segmentChunks } from './listing.js'
import { JournalState } from './state.js'
import type { Store } from './store.js'
import type { StoreFile } from './store-file.js'

/** A checkpoint that its journal vouches for. */
export interface VerifiedCheckpoint {
  readonly headSeq: number
  /** The seq of the record that vouches for it. */
  readonly refSeq: number
  readonly file: StoreFile
  readonly header: CheckpointHeader
}

/** A ref and the seq of its record. */
export interface StandingRef extends CheckpointRef {
  readonly seq: number
}

/** Every ref that has an effect in one segment. */
function refsIn(store: Store, source: SegmentSource): StandingRef[] {
  let refs: StandingRef[] = []
  const take = ({ action, payload, seq }: ReadRecord): void => {
    const ref = action === 'checkpoint_ref' ? parseCheckpointRef(payload) : undefined
    if (ref !== undefined && seq > ref.head_seq) refs.push({ ...ref, seq })
  }
  const listener = {
    framed(frame: LineFrame): void {
      // Every verb of the ref's length is rare enough to be parsed.
      if (frame.actionEnd - frame.actionStart !== 'checkpoint_ref'.length) return
      const record = recordOf(frame.line)
      if (record !== undefined) take(record)
    },
    released: ({ record }: { readonly record: ReadRecord }): void => take(record),
    restart(): void {
      refs = []
    },
  }
  readSegment(() => segmentChunks(store, source), listener, { isLazy: true })
  return refs
}

/** Finds out which checkpoints the journal vouches for, reading no segment twice. */
export class CheckpointJudge {
  readonly #store: Store
  readonly #segments: readonly SegmentSource[]
  readonly #refs: Map<number, StandingRef[]> = new Map()

  constructor(store: Store, segments: readonly SegmentSource[]) {
    this.#store = store
    this.#segments = segments
  }

  /** The refs for a candidate, among what stands after the seq that it covers. */
  refsFor(candidate: CheckpointSource): StandingRef[] {
    const after = this.#segments.filter(({ number }) => number > candidate.headSeq)
    const name = basename(candidate.path)
    return after.flatMap(source => this.#refsIn(source)).filter(ref => ref.file === name)
  }

  #refsIn(source: SegmentSource): StandingRef[] {
    const known = this.#refs.get(source.number)
    if (known !== undefined) return known
    const refs = refsIn(this.#store, source)
    this.#refs.set(source.number, refs)
    return refs
  }
}

/** A checkpoint and the state it holds. */
export interface LoadedCheckpoint {
  readonly checkpoint: VerifiedCheckpoint
  readonly state: JournalState
}

/**
 * Reads a candidate in one pass: hash, header and entities. It yields between chunks, so that a caller with
 * something else to do may do it. What it put into a state counts only if it returns a checkpoint.
 */
export function* loadCheckpoint(
  store: Store,
  candidate: CheckpointSource,
  refs: readonly StandingRef[],
  projectId: string,
  into?: JournalState,
): Generator<void, VerifiedCheckpoint | undefined> {
  const stat = store.disk.look(candidate.path)
  if (stat?.isFile() !== true || !refs.some(ref => ref.bytes === stat.size)) return undefined
  const file: StoreFile = { path: candidate.path }
  let isSound = true
  const reader = new CheckpointReader(line => {
    const entity = line.entity()
    if (entity === undefined) isSound = false
    else into?.load(entity, { file, offset: line.offset, length: line.length })
  })
  for (const chunk of store.disk.fileChunks(candidate.path)) {
    if (!reader.push(chunk) || !isSound) return undefined
    yield
  }
  const { header, sha256, bytes, entities: lines } = reader
  if (header === undefined || reader.fault(candidate.headSeq) !== undefined) return undefined
  const found = { projectId, sha256, bytes, lines }
  const vouching = refs.findLast(ref => verifyHeader(header, { ...found, ref }) === undefined)
  if (vouching === undefined) return undefined
  into?.loadHeader(header)
  return { headSeq: header.head_seq, refSeq: vouching.seq, file, header }
}

/** The newest checkpoint that the journal vouches for, with the state it holds. */
export function loadNewest(
  store: Store,
  candidates: readonly CheckpointSource[],
  judge: CheckpointJudge,
  projectId: string,
): LoadedCheckpoint | undefined {
  for (const candidate of candidates) {
    const reading = tryRead(store, candidate, judge, projectId)
    if (reading !== undefined) return reading
    store.log({
      level: 'warn',
      code: 'checkpoint_rejected',
      message: `${candidate.path} is not a checkpoint of this journal; using an older one, or only the segments`,
    })
  }
  return undefined
}

function tryRead(
  store: Store,
  candidate: CheckpointSource,
  judge: CheckpointJudge,
  projectId: string,
): LoadedCheckpoint | undefined {
  try {
    const state = new JournalState()
    const checkpoint = runAtOnce(loadCheckpoint(store, candidate, judge.refsFor(candidate), projectId, state))
    return checkpoint === undefined ? undefined : { checkpoint, state }
  } catch (error) {
    // A candidate that cannot be read is one candidate less; a dying disk will say so again at the segments.
    if (error instanceof KimError) return undefined
    throw error
  }
}

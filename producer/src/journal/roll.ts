/** When a segment is rolled, what is appended before, and what follows: a checkpoint of what was sealed, then gc. */
import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import {
  archivedSegmentName,
  invariant,
  isSegmentFull,
  KimError,
  limits,
  runAtOnce,
  type Slices,
  seqRoom,
  tempName,
} from '@kim/manifest'
import type { Appender } from './append.js'
import {
  type Boundary,
  type BuiltCheckpoint,
  buildCheckpoint,
  candidateVerifier,
  type VerifiedCheckpoint,
} from './checkpoint.js'
import { isDamaged, isNoSpace, WIDER_SEQ } from './disk-errors.js'
import type { Draft } from './draft.js'
import type { WriterState } from './entity-reader.js'
import type { Disk } from './file-ops.js'
import { type JournalState, MetaCache } from './journal-state.js'
import {
  type CheckpointCandidate,
  digestOfChunks,
  listCheckpoints,
  listSegments,
  type SegmentFile,
  unpacked,
} from './listing.js'
import { checkpointRef } from './notes.js'
import { retentionCommits } from './retention.js'
import type { JournalOptions, Store } from './store.js'

/** A full disk is given this long before a checkpoint is tried again. */
const RETRY_MS = 30_000
/** So many segments may wait for a checkpoint that is not begun. */
const BEHIND_SEGMENTS = 2
/** Commits of retention that one append does at most, so that none waits for all of them. */
const RETENTION_COMMITS = 2

/** What upkeep works on. */
export interface UpkeepStart {
  readonly store: Store
  readonly appender: Appender
  readonly state: JournalState
  readonly projectId: string
  /** The checkpoint that the journal was opened from. */
  readonly base: VerifiedCheckpoint | undefined
  /** False if the history before the first segment is missing: then no checkpoint could be complete. */
  readonly isHistoryWhole: boolean
  readonly options: Pick<JournalOptions, 'gc' | 'gzip' | 'retainRead' | 'segmentBytes'>
}

/**
 * Rolls the segment. What follows is done off the append path, in slices, one a call, and begun again from the disk
 * after a crash.
 */
export class Upkeep {
  readonly #start: UpkeepStart
  readonly meta: MetaCache
  readonly #known: Set<number> = new Set()
  /** The newest verified checkpoint. */
  base: VerifiedCheckpoint | undefined
  /** What gc moved to `archive/` since the journal was opened. */
  readonly archived: string[] = []
  #boundary: Boundary | undefined
  #work: Slices<unknown> | undefined
  #gcDue = false
  /** How many segments were sealed since the checkpoint was begun that is under way, or was the last. */
  #waiting = 0
  #isHeld = false
  #notBeforeMs = Number.NEGATIVE_INFINITY
  #retention: Generator<Draft[]> | undefined

  constructor(start: UpkeepStart) {
    this.#start = start
    this.meta = new MetaCache(start.store, start.projectId)
    this.base = start.base
    if (start.base !== undefined) this.#known.add(start.base.header.head_seq)
    this.#gcDue = start.options.gc !== false && start.base !== undefined
  }

  /** Rolls once the segment has the size for it; where there is no space for that, a later call does. */
  rollIfFull(view: WriterState): void {
    const { appender, options } = this.#start
    if (!isSegmentFull(appender.segment.length, options.segmentBytes ?? limits.segmentBytesMax)) return
    if (!appender.isSettled || seqRoom(appender.nextSeq) === 'none') return
    try {
      if (this.#retain(view)) this.#roll()
    } catch (error) {
      if (!isNoSpace(error)) throw error
    }
  }

  /** Seals the segment now, retention first. */
  roll(view: WriterState): void {
    this.#start.appender.settle()
    while (!this.#retain(view)) {
      // one commit after the other
    }
    this.#roll()
  }

  /** Does some of what retention asks for before a roll; true if nothing is left of it. */
  #retain(view: WriterState): boolean {
    const { appender, state, options } = this.#start
    const retainRead = options.retainRead ?? limits.readMessagesRetainedMax
    this.#retention ??= retentionCommits(state, view, retainRead)
    for (let n = 0; n < RETENTION_COMMITS; n++) {
      const retention = this.#retention
      const next = appender.guard(() => retention.next())
      if (next.done === true) {
        this.#retention = undefined
        return true
      }
      // What changed since it was found is left for the next roll.
      const drafts = next.value.filter(({ action, item_type, item_id }) => {
        return action !== 'delete' || state.find(item_type, item_id)?.image.read === true
      })
      try {
        // Without its `known_from` a deleted message would be taken for one that never came (JF-80).
        appender.appendOne(drafts, { tx: true })
      } catch (error) {
        // What was not appended is not done: the next roll finds it again.
        this.#retention = undefined
        throw error
      }
    }
    return false
  }

  #roll(): void {
    const { appender, projectId } = this.#start
    this.sealed(appender.roll(projectId))
    this.warnOfEnd()
    appender.settle()
    this.meta.write(appender.nextSeq, appender.segment.number)
  }

  warnOfEnd(): void {
    const { appender, store } = this.#start
    if (seqRoom(appender.nextSeq) === 'plenty') return
    store.log({
      level: 'error',
      code: 'seq_running_out',
      message: `sequence numbers are running out: the next is ${appender.nextSeq}, the last is ${limits.seqMax}`,
      hint: `after the last number nothing can be appended; before that, ${WIDER_SEQ}`,
    })
  }

  /** True if there is something to do now. */
  get isDue(): boolean {
    if (this.#work !== undefined) return true
    if (this.#boundary === undefined && !this.#gcDue) return false
    return this.#start.store.clock.monoMs() >= this.#notBeforeMs
  }

  /** True while segments are sealed faster than checkpoints cover them: the next one has all of that to hold at once. */
  get isBehind(): boolean {
    return this.#boundary !== undefined && this.#waiting >= BEHIND_SEGMENTS
  }

  /** A segment was sealed; only the newest one matters. */
  sealed(boundary: Boundary): void {
    if (!this.#start.isHistoryWhole || this.#isHeld) return
    this.#boundary = boundary
    this.#waiting += 1
  }

  /** Does nothing more until the next open. */
  hold(): void {
    this.abandon()
    this.#isHeld = true
    this.#boundary = undefined
    this.#gcDue = false
  }

  /** Does one slice. Returns true if there is more to do now. */
  step(): boolean {
    const { appender } = this.#start
    if (!this.isDue || !appender.isSettled) return false
    this.#work ??= this.#next()
    try {
      const work = this.#work
      if (appender.guard(() => work.next()).done === true) this.#work = undefined
    } catch (error) {
      this.#work = undefined
      this.#putOff(error)
      return false
    }
    return this.isDue
  }

  /** What an append need not hear of: it can be done later, or not at all. */
  #putOff(error: unknown): void {
    const { store } = this.#start
    const isLast = error instanceof KimError && error.code === 'seq_exhausted'
    if (isLast) this.#boundary = undefined
    else if (isNoSpace(error)) this.#notBeforeMs = store.clock.monoMs() + RETRY_MS
    else throw error
    const { message, hint } = error as KimError
    store.log({ level: 'warn', code: 'checkpoint_put_off', message, hint })
  }

  /** Does everything that is due, now. */
  finish(): void {
    this.#notBeforeMs = Number.NEGATIVE_INFINITY
    while (this.step()) {
      // one slice after the other
    }
  }

  /** Gives up what is under way; the next open starts it from the beginning. */
  abandon(): void {
    this.#work?.return(undefined)
    this.#work = undefined
  }

  #next(): Slices<unknown> {
    if (this.#boundary !== undefined) return this.#checkpoint(this.#boundary)
    this.#gcDue = false
    return this.#collect()
  }

  *#checkpoint(boundary: Boundary): Slices<void> {
    this.#waiting = 0
    const { store, state, projectId, options } = this.#start
    const base = this.base
    if (base !== undefined && base.header.head_seq >= boundary.head_seq) {
      this.#boundary = undefined
      return
    }
    let built: BuiltCheckpoint
    try {
      built = yield* buildCheckpoint(store, state, { boundary, projectId, base })
    } catch (error) {
      if (!isDamaged(error)) throw error
      // No checkpoint is better than a wrong one: readers go on with the one before.
      this.#boundary = undefined
      const { message, hint } = error
      store.log({ level: 'error', code: 'checkpoint_not_built', message, hint })
      return
    }
    this.vouch(built)
    if (this.#boundary === boundary) this.#boundary = undefined
    this.#gcDue = options.gc !== false
  }

  /** Appends the ref that makes a checkpoint count, and goes on from it. */
  vouch(built: BuiltCheckpoint): void {
    const { appender, state } = this.#start
    const { path, header, ref } = built
    const [refSeq] = appender.appendOne([checkpointRef(ref)]).seqs
    invariant(refSeq !== undefined, 'a ref that was appended has a number')
    built.adopt()
    this.base = { refSeq, path, header }
    this.#known.add(header.head_seq)
    state.removed.forget(header.head_seq)
  }

  *#collect(): Slices<GcReport> {
    const { store, projectId, options } = this.#start
    const plan = yield* planGc(store, projectId, this.#known)
    const report = yield* runGc(store, plan, options.gzip === true)
    this.archived.push(...report.segments, ...report.checkpoints)
    return report
  }

  /** Collects now, also while gc is held. */
  collect(): GcReport {
    // What is under way planned with files that are about to move.
    this.abandon()
    return runAtOnce(this.#collect())
  }

  /** What a gc would park now, or after so many checkpoints. */
  plan(coming: number): GcReport {
    const { store, projectId } = this.#start
    const { segments, checkpoints } = runAtOnce(planGc(store, projectId, this.#known, coming))
    const name = ({ path }: { readonly path: string }): string => basename(path)
    return { segments: segments.map(name), checkpoints: checkpoints.map(name) }
  }
}

/** What gc did, or would do. */
export interface GcReport {
  /** Names of the segments parked. */
  readonly segments: readonly string[]
  /** Names of the checkpoints parked. */
  readonly checkpoints: readonly string[]
}

/** What a gc may move, given which checkpoints are verified. */
interface GcPlan {
  readonly segments: readonly SegmentFile[]
  readonly checkpoints: readonly CheckpointCandidate[]
}

/** Bytes packed between two yields. */
const PACK_BYTES = 256 * 1024

/**
 * What lies wholly below the second-newest verified checkpoint. `known` names checkpoints that this process
 * verified itself; any other is read before anything is built on it. `coming`: checkpoints that are verified by then.
 */
function* planGc(store: Store, projectId: string, known: ReadonlySet<number>, coming = 0): Slices<GcPlan> {
  const segments = listSegments(store)
  const candidates = listCheckpoints(store).filter(({ isArchived }) => !isArchived)
  const verifier = candidateVerifier(store, segments, projectId)
  const verified: CheckpointCandidate[] = []
  for (const candidate of candidates) {
    if (verified.length === 2 - coming) break
    if (known.has(candidate.headSeq) || (yield* verifier.verify(candidate)) !== undefined)
      verified.push(candidate)
    yield
  }
  const floor = verified[1 - coming]?.headSeq
  if (floor === undefined) return { segments: [], checkpoints: [] }
  const below = segments.filter((source, at) => {
    const next = segments[at + 1]
    // A segment's last seq is below the number of the one after it.
    return !source.isArchived && next !== undefined && next.number <= floor + 1
  })
  return { segments: below, checkpoints: candidates.filter(({ headSeq }) => headSeq < floor) }
}

/** Parks what a plan names, one file between two yields. */
function* runGc(store: Store, plan: GcPlan, gzip: boolean): Slices<GcReport> {
  const { disk, paths } = store
  const report = { segments: [] as string[], checkpoints: [] as string[] }
  for (const source of plan.segments) {
    if (yield* park(store, source, gzip)) report.segments.push(basename(source.path))
    yield
  }
  for (const { path } of plan.checkpoints) {
    disk.archive(path, join(paths.archive, basename(path)))
    report.checkpoints.push(basename(path))
    yield
  }
  return report
}

/** Parks one segment; false if the archive already has a different file of that name. */
function* park(store: Store, source: SegmentFile, gzip: boolean): Slices<boolean> {
  const { disk, paths, log } = store
  const target = (gzipped: boolean): string =>
    join(paths.archive, archivedSegmentName({ first: source.number, gzipped }))
  for (const gzipped of [false, true]) {
    const path = target(gzipped)
    if (disk.look(path) === undefined) continue
    const copy = archivedDigest(disk, path, gzipped)
    if (copy === undefined) continue
    if (copy === digestOfChunks(disk.fileChunks(source.path))) {
      // A move that was not finished: the copy is whole.
      disk.syncDirectory(paths.archive)
      disk.removeNow(source.path)
      disk.syncDirectory(paths.events)
      return true
    }
    log({
      level: 'warn',
      code: 'archive_differs',
      message: `${path} differs from ${source.path}; both are kept`,
      hint: 'find the damaged one: kim-producer journal verify (with the same --store) checks the one in events/; if it is clean, move the copy in archive/ away; if not, stop the producer and restore it from that copy',
    })
    return false
  }
  if (!gzip) {
    disk.archive(source.path, target(false))
    return true
  }
  const packed: Buffer[] = []
  for (const chunk of disk.fileChunks(source.path)) {
    for (let at = 0; at < chunk.length; at += PACK_BYTES) {
      // A gzip file is any number of members, so that it can be made in slices.
      packed.push(gzipSync(chunk.subarray(at, at + PACK_BYTES)))
      yield
    }
  }
  const path = target(true)
  disk.writeDurably(join(paths.archive, tempName(basename(path))), path, packed)
  disk.removeNow(source.path)
  disk.syncDirectory(paths.events)
  return true
}

/** The digest of an archived copy's unpacked bytes; undefined if it is broken. */
function archivedDigest(disk: Disk, path: string, gzipped: boolean): string | undefined {
  if (!gzipped) return digestOfChunks(disk.fileChunks(path))
  try {
    return digestOfChunks([unpacked(disk, path)])
  } catch (error) {
    if (isDamaged(error)) return undefined
    throw error
  }
}

import { basename, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { archivedSegmentName, type Slices, tempName } from '@kim/manifest'
import { candidateVerifier } from './checkpoint.js'
import { isDamaged } from './disk-errors.js'
import type { Disk } from './file-ops.js'
import {
  type CheckpointCandidate,
  digestOfChunks,
  listCheckpoints,
  listSegments,
  type SegmentFile,
  unpacked,
} from './listing.js'
import type { Store } from './store.js'

/** What gc did, or would do. */
export interface GcReport {
  /** Names of the segments parked. */
  readonly segments: readonly string[]
  /** Names of the checkpoints parked. */
  readonly checkpoints: readonly string[]
}

/** What a gc may move, given which checkpoints are verified. */
export interface GcPlan {
  readonly segments: readonly SegmentFile[]
  readonly checkpoints: readonly CheckpointCandidate[]
}

/** Bytes packed between two yields. */
const PACK_BYTES = 256 * 1024

/**
 * What lies wholly below the second-newest verified checkpoint. `known` names checkpoints that this process
 * verified itself; any other is read before anything is built on it. `coming`: checkpoints that are verified by then.
 */
export function* planGc(
  store: Store,
  projectId: string,
  known: ReadonlySet<number>,
  coming = 0,
): Slices<GcPlan> {
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
export function* runGc(store: Store, plan: GcPlan, gzip: boolean): Slices<GcReport> {
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

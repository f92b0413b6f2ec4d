import {
  eventsPaths,
  isMisnamedSegment,
  parseArchivedSegmentName,
  parseCheckpointName,
  parseSegmentName,
  segmentName,
} from '@kim/manifest'
import { type Failure, found, type Outcome } from './outcome.js'
import { listNames } from './read-only-fs.js'

/** A segment that exists somewhere. */
export interface SegmentEntry {
  /** The number in its name: a lower bound of the first seq it holds. */
  readonly number: number
  /** Its plain name, also where it stands compressed. */
  readonly name: string
  /** Where it will be read: what stands in both places is read live. */
  readonly place: 'live' | 'archive'
}

/** A checkpoint file that exists somewhere. */
export interface CheckpointEntry {
  /** The number in its name: the last seq it covers. */
  readonly headSeq: number
  readonly name: string
  readonly place: 'live' | 'archive'
}

/** The files of a journal directory, each list ascending by number. */
export interface StoreListing {
  readonly segments: readonly SegmentEntry[]
  readonly checkpoints: readonly CheckpointEntry[]
  /** Archived checkpoints whose number stands live too, ascending: candidates of their own. */
  readonly shadowed: readonly CheckpointEntry[]
  /** Files beside the live segments that look like one but have no legal name. */
  readonly misnamed: readonly string[]
  /** Subdirectories that exist but cannot be listed. */
  readonly failures: readonly Failure[]
}

/**
 * Lists a journal directory. Safe beside a running writer: checkpoints are taken first, so none is listed ahead
 * of the segments it covers, and the archive last, so a segment that gc moves meanwhile is in one list or both.
 */
export function listStore(eventsDir: string): Outcome<StoreListing> {
  const paths = eventsPaths(eventsDir)
  const checkpointNames = listNames(paths.checkpoints)
  const liveNames = listNames(eventsDir)
  if (!liveNames.ok) return liveNames
  const archiveNames = listNames(paths.archive)

  const segments = new Map<number, SegmentEntry>()
  const checkpoints = new Map<number, CheckpointEntry>()
  const shadowed: CheckpointEntry[] = []
  for (const name of namesIn(archiveNames)) {
    const number = parseArchivedSegmentName(name)?.first
    if (number !== undefined) segments.set(number, { number, name: segmentName(number), place: 'archive' })
    const headSeq = parseCheckpointName(name)
    if (headSeq !== undefined) checkpoints.set(headSeq, { headSeq, name, place: 'archive' })
  }
  for (const name of liveNames.value) {
    const number = parseSegmentName(name)
    if (number !== undefined) segments.set(number, { number, name, place: 'live' })
  }
  for (const name of namesIn(checkpointNames)) {
    const headSeq = parseCheckpointName(name)
    if (headSeq === undefined) continue
    const archived = checkpoints.get(headSeq)
    if (archived !== undefined) shadowed.push(archived)
    checkpoints.set(headSeq, { headSeq, name, place: 'live' })
  }
  return found({
    segments: [...segments.values()].sort((a, b) => a.number - b.number),
    checkpoints: [...checkpoints.values()].sort((a, b) => a.headSeq - b.headSeq),
    shadowed: shadowed.sort((a, b) => a.headSeq - b.headSeq),
    misnamed: liveNames.value.filter(isMisnamedSegment),
    failures: [checkpointNames, archiveNames].filter(isDamage),
  })
}

function namesIn(outcome: Outcome<readonly string[]>): readonly string[] {
  return outcome.ok ? outcome.value : []
}

function isDamage(outcome: Outcome<readonly string[]>): outcome is Failure {
  return !outcome.ok && outcome.reason === 'unreadable'
}

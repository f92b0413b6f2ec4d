import { basename, join } from 'node:path'
import {
  eventsPaths,
  isMisnamedSegment,
  parseArchivedSegmentName,
  parseCheckpointName,
  parseSegmentName,
  segmentName,
} from '@kim/manifest'
import {
  found,
  listEntries,
  type NamedEntry,
  type ReadFailure,
  type ReadResult,
  unreadable,
} from './read-only-fs.js'

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
  /** Subdirectories that cannot be listed, and what stands under a segment's name and is no regular file. */
  readonly failures: readonly ReadFailure[]
}

/**
 * Lists a journal directory. Safe beside a running writer: checkpoints are taken first, so none is listed ahead
 * of the segments it covers, and the archive last, so a segment that gc moves meanwhile is in one list or both.
 */
export function listStore(eventsDir: string): ReadResult<StoreListing> {
  const paths = eventsPaths(eventsDir)
  const checkpointEntries = listEntries(paths.checkpoints)
  const liveEntries = listEntries(eventsDir)
  if (!liveEntries.ok) return liveEntries
  const archiveEntries = listEntries(paths.archive)

  const failures = [checkpointEntries, archiveEntries].filter(isDamage)
  const segments = new Map<number, SegmentEntry>()
  const checkpoints = new Map<number, CheckpointEntry>()
  const shadowed: CheckpointEntry[] = []
  /** What is no regular file holds no history, whatever it is called: it takes part in nothing. */
  const isSegment = (folder: string, { name, kind }: NamedEntry): boolean => {
    if (kind !== 'file')
      failures.push(unreadable(join(folder, name), kind === 'symlink' ? kind : 'not_regular'))
    return kind === 'file'
  }
  for (const entry of entriesIn(archiveEntries)) {
    const { name } = entry
    const number = parseArchivedSegmentName(name)?.first
    if (number !== undefined && isSegment(paths.archive, entry))
      segments.set(number, { number, name: segmentName(number), place: 'archive' })
    const headSeq = parseCheckpointName(name)
    if (headSeq !== undefined) checkpoints.set(headSeq, { headSeq, name, place: 'archive' })
  }
  for (const entry of liveEntries.value) {
    const { name } = entry
    const number = parseSegmentName(name)
    if (number === undefined) continue
    if (isSegment(eventsDir, entry)) segments.set(number, { number, name, place: 'live' })
  }
  for (const { name } of entriesIn(checkpointEntries)) {
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
    misnamed: liveEntries.value.map(({ name }) => name).filter(isMisnamedSegment),
    failures,
  })
}

function entriesIn(outcome: ReadResult<readonly NamedEntry[]>): readonly NamedEntry[] {
  return outcome.ok ? outcome.value : []
}

function isDamage(outcome: ReadResult<readonly NamedEntry[]>): outcome is ReadFailure {
  return !outcome.ok && outcome.reason === 'unreadable'
}

/** How many of these, which ascend, have a number that is not above this one. */
export function countUpTo(segments: readonly SegmentEntry[], number: number): number {
  let low = 0
  let high = segments.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((segments[middle] as SegmentEntry).number <= number) low = middle + 1
    else high = middle
  }
  return low
}

/** The number of the segment that a file is called by. */
export function segmentNumberOf(path: string): number | undefined {
  const name = basename(path)
  return parseSegmentName(name) ?? parseArchivedSegmentName(name)?.first
}

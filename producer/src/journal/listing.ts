import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import {
  isMisnamedSegment,
  parseArchivedSegmentName,
  parseCheckpointName,
  parseSegmentName,
  parseTempName,
} from '@kim/manifest'
import { damaged } from './failure.js'
import type { Store } from './store.js'

/** A segment and where its bytes are read from. */
export interface SegmentSource {
  readonly number: number
  readonly path: string
  readonly isArchived: boolean
  readonly isGzipped: boolean
}

/** A file with the name of a checkpoint. */
export interface CheckpointSource {
  readonly headSeq: number
  readonly path: string
  readonly isArchived: boolean
}

/** Every segment there is, by number: the live one before the archived one, the plain before the gzipped. */
export function listSegments(store: Store): SegmentSource[] {
  const { disk, paths, log } = store
  const found = new Map<number, SegmentSource>()
  const archived = disk
    .names(paths.archive)
    .map(name => ({ name, parsed: parseArchivedSegmentName(name) }))
    .sort((a, b) => Number(b.parsed?.gzipped ?? false) - Number(a.parsed?.gzipped ?? false))
  for (const { name, parsed } of archived) {
    if (parsed === undefined) continue
    const { first: number, gzipped: isGzipped } = parsed
    found.set(number, { number, path: join(paths.archive, name), isArchived: true, isGzipped })
  }
  for (const name of disk.names(paths.events)) {
    const number = parseSegmentName(name)
    if (number !== undefined) {
      found.set(number, { number, path: join(paths.events, name), isArchived: false, isGzipped: false })
    } else if (isMisnamedSegment(name)) {
      log({
        level: 'warn',
        code: 'segment_misnamed',
        message: `${join(paths.events, name)} is not a valid segment name`,
      })
    }
  }
  return [...found.values()].sort((a, b) => a.number - b.number)
}

/** Every checkpoint candidate in the order in which they are tried. */
export function listCheckpoints(store: Store): CheckpointSource[] {
  const { disk, paths } = store
  const inDirectory = (directory: string, isArchived: boolean): CheckpointSource[] =>
    disk
      .names(directory)
      .flatMap(name => {
        const headSeq = parseCheckpointName(name)
        return headSeq === undefined ? [] : [{ headSeq, path: join(directory, name), isArchived }]
      })
      .sort((a, b) => b.headSeq - a.headSeq)
  return [...inDirectory(paths.checkpoints, false), ...inDirectory(paths.archive, true)]
}

/** The unpacked bytes of a segment from a position on, in chunks that the caller may keep. */
export function* segmentChunks(
  store: Store,
  source: SegmentSource,
  from = 0,
  into?: Buffer,
): Generator<Buffer> {
  if (!source.isGzipped) {
    yield* store.disk.fileChunks(source.path, from, into)
    return
  }
  const packed = store.disk.readWhole(source.path)
  if (packed === undefined) throw damaged(`${source.path} is missing`)
  try {
    yield gunzipSync(packed).subarray(from)
  } catch (cause) {
    throw damaged(`${source.path} cannot be unpacked`, cause)
  }
}

/** Files that a writer died over before they got their names. */
export function listTemps(store: Store): string[] {
  const { disk, paths } = store
  const directories = [paths.events, paths.checkpoints, paths.archive]
  return directories.flatMap(directory =>
    disk
      .names(directory)
      .filter(name => parseTempName(name) !== undefined)
      .map(name => join(directory, name)),
  )
}

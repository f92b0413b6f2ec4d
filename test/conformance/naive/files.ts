import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

/** One segment's bytes: live, or else from the archive, where it may be gzipped. */
export interface SegmentFile {
  number: number
  live: boolean
  bytes: Buffer
}

export interface CheckpointFile {
  name: string
  bytes: Buffer
}

/** Every segment that can still be read, ascending by number; a live one hides its archived copy. */
export function listSegments(eventsDir: string, pad: number): SegmentFile[] {
  const name = new RegExp(`^seg-(\\d{${pad}})\\.jsonl(\\.gz)?$`)
  const found = new Map<number, SegmentFile>()
  const take = (folder: string, live: boolean): void => {
    for (const file of filesIn(folder)) {
      const match = name.exec(file)
      const number = Number(match?.[1] ?? 0)
      const gz = match?.[2] !== undefined
      if (number < 1 || (live && gz) || found.has(number)) continue
      const stored = readFileSync(join(folder, file))
      const bytes = gz ? unpack(stored) : stored
      if (bytes !== undefined) found.set(number, { number, live, bytes })
    }
  }
  take(eventsDir, true)
  take(join(eventsDir, 'archive'), false)
  return [...found.values()].sort((a, b) => a.number - b.number)
}

/** Whether something is called a segment by a higher number than all that are, and can not be read. */
export function isEndUnreadable(eventsDir: string, pad: number, segments: readonly SegmentFile[]): boolean {
  const newest = segments.at(-1)?.number ?? 0
  const isBehind = (name: RegExp) => (file: string) => Number(name.exec(file)?.[1] ?? 0) > newest
  const live = new RegExp(`^seg-(\\d{${pad}})\\.jsonl$`)
  const archived = new RegExp(`^seg-(\\d{${pad}})\\.jsonl(?:\\.gz)?$`)
  return (
    namesIn(eventsDir).some(isBehind(live)) || namesIn(join(eventsDir, 'archive')).some(isBehind(archived))
  )
}

/** Files in `events/` that look like segments and have no legal name. */
export function countMisnamed(eventsDir: string, pad: number): number {
  const legal = new RegExp(`^seg-\\d{${pad}}\\.jsonl$`)
  return filesIn(eventsDir).filter(
    file =>
      file.startsWith('seg-') &&
      file.includes('.jsonl') &&
      !(legal.test(file) && Number(file.slice(4, 4 + pad)) > 0),
  ).length
}

/** Checkpoint candidates, newest first: the live ones, then the archived ones. */
export function listCheckpoints(eventsDir: string, pad: number): CheckpointFile[] {
  const name = new RegExp(`^ckpt-\\d{${pad}}\\.json$`)
  return ['checkpoints', 'archive'].flatMap(folder =>
    filesIn(join(eventsDir, folder))
      .filter(file => name.test(file))
      .sort()
      .reverse()
      .map(file => ({ name: file, bytes: readFileSync(join(eventsDir, folder, file)) })),
  )
}

/** The bytes of a blob, or undefined when there is none. */
export function readBlob(eventsDir: string, sha256: string): Buffer | undefined {
  const path = join(eventsDir, 'blobs', sha256.slice(0, 2), sha256)
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true ? readFileSync(path) : undefined
}

export function isDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** The terminated lines of a file; what stands after the last LF is not a line yet. */
export function splitLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = []
  let start = 0
  for (let end = bytes.indexOf(10, start); end !== -1; end = bytes.indexOf(10, start)) {
    lines.push(bytes.subarray(start, end))
    start = end + 1
  }
  return lines
}

/** A gzip copy that cannot be read to its end is no copy. */
function unpack(bytes: Buffer): Buffer | undefined {
  try {
    return gunzipSync(bytes)
  } catch {
    return undefined
  }
}

/** Plain files of a folder, sorted by name; nothing if there is no such folder. */
function filesIn(folder: string): string[] {
  return namesIn(folder).filter(
    file => lstatSync(join(folder, file), { throwIfNoEntry: false })?.isFile() === true,
  )
}

function namesIn(folder: string): string[] {
  return isDirectory(folder) ? readdirSync(folder).sort() : []
}

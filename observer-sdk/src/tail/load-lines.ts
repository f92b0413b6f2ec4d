/** Loads the lines that a cold start found to be the newest of their entities: files may vanish, so bytes are kept. */
import { Buffer } from 'node:buffer'
import type { EntityTable } from '@kim/manifest'
import type { FileContent } from '../store/file-content.js'
import type { SegmentSet } from './segment-set.js'
import { type Image, StoredLine } from './stored-image.js'

/** What is known of the segments that were scanned. */
export interface Scanned {
  /** Identity of the file of each. */
  readonly identities: ReadonlyMap<number, string>
  /** The one whose first bytes are still in memory, and those bytes. */
  readonly last: number
  readonly inMemory: Buffer
}

/** A file of which less than this part is wanted is not read as a whole. */
const SPARSE = 16

/** Loads all lines without bytes, one segment after the other; false if a file is not there any more as it was scanned. */
export function* loadLines(
  entities: EntityTable<Image>,
  history: SegmentSet,
  { identities, last, inMemory }: Scanned,
): Generator<void, boolean> {
  const wanted = new Map<number, StoredLine[]>()
  for (const slot of entities.slots()) {
    const image = entities.imageAt(slot)
    if (!(image instanceof StoredLine) || image.bytes !== undefined) continue
    const lines = wanted.get(image.origin)
    if (lines === undefined) wanted.set(image.origin, [image])
    else lines.push(image)
  }
  for (const [segment, lines] of wanted) {
    const bytes = lines.reduce((sum, { length }) => sum + length, 0)
    if (segment === last && lines.every(line => line.offset + line.length <= inMemory.length)) {
      if (bytes * 2 > inMemory.length) adopt(lines, inMemory)
      else gather(lines, bytes, inMemory)
      continue
    }
    // Another file under that name may have other lines at these places.
    const isLoaded = history.read(
      segment,
      content => content.identity === identities.get(segment) && load(content, lines, bytes),
    )
    if (isLoaded !== true) return false
    yield
  }
  return true
}

function load(content: FileContent, lines: readonly StoredLine[], bytes: number): boolean {
  if (bytes * SPARSE < content.bytes && !content.candidate.gzip) {
    const gathered = Buffer.allocUnsafeSlow(bytes)
    let at = 0
    for (const line of lines) {
      if (content.readInto(gathered, at, line.length, line.offset) !== line.length) return false
      line.bytes = gathered
      line.at = at
      at += line.length
    }
    return true
  }
  const whole = content.read(0, content.bytes)
  if (lines.some(line => line.offset + line.length > whole.length)) return false
  if (bytes * 2 > whole.length) adopt(lines, whole)
  else gather(lines, bytes, whole)
  return true
}

function adopt(lines: readonly StoredLine[], whole: Buffer): void {
  for (const line of lines) {
    line.bytes = whole
    line.at = line.offset
  }
}

function gather(lines: readonly StoredLine[], bytes: number, whole: Buffer): void {
  const gathered = Buffer.allocUnsafeSlow(bytes)
  let at = 0
  for (const line of lines) {
    whole.copy(gathered, at, line.offset, line.offset + line.length)
    line.bytes = gathered
    line.at = at
    at += line.length
  }
}

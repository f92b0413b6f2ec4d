/** Leads readers through the segments of a journal in file order, in bounded memory, with turns for others. */
import { basename } from 'node:path'
import { parseArchivedSegmentName, parseSegmentName, type SegmentReader } from '@kim/manifest'
import type { FileContent } from '../store/file-content.js'
import { openSegment } from '../store/file-content.js'
import type { SegmentEntry } from '../store/listing.js'
import type { ReadFailure } from '../store/read-only-fs.js'
import type { PassPacer } from './pace.js'

/** A place between two lines. */
export interface JournalPoint {
  readonly segment: number
  readonly offset: number
}

/** What walks through a journal. */
export interface SegmentWalker {
  /** The reader of a segment's lines from `offset` on. */
  beginSegment(segment: SegmentEntry, offset: number): SegmentReader
  /** Bytes of the segment that are about to be read. */
  chunk?(bytes: Uint8Array): void
  /** One line is dealt with; false ends the walk. */
  lineEnd?(): boolean
  /** The reader stopped: another one that goes on behind the present line, or undefined to end the walk. */
  stopped?(): SegmentReader | undefined
  /** Something that must be awaited before the next line, if anything must. */
  pause?(): Promise<void> | undefined
  /** `failure` says why the segment could not be read to its end, if it could not. */
  endSegment(segment: SegmentEntry, failure: ReadFailure | undefined): void
  /** A segment that could not be opened. */
  unreadable(segment: SegmentEntry, failure: ReadFailure): void
}

/** Which segments a walk goes through, and from where. */
export interface WalkRange {
  readonly segments: readonly SegmentEntry[]
  readonly from?: JournalPoint | undefined
  /** Failures of the listing, to be reported where the segment would be. */
  readonly failures?: readonly ReadFailure[]
}

/** Leads a walker through the lines of a journal; true if the walker ended the walk. */
export async function walkSegments(
  eventsDir: string,
  { segments, from = { segment: 0, offset: 0 }, failures = [] }: WalkRange,
  walker: SegmentWalker,
  pace: PassPacer,
): Promise<boolean> {
  const blocked = blockedFrom(failures, from)
  for (const segment of segments) {
    if (segment.number < from.segment) continue
    reportBlocked(blocked, segment.number, walker)
    const opened = openSegment(eventsDir, segment.number)
    if (!opened.ok) {
      walker.unreadable(segment, opened)
      continue
    }
    const content = opened.value
    // What is no regular file was reported with the listing.
    if (content.passedOver !== undefined && segment.place === 'live')
      walker.unreadable(segment, content.passedOver)
    try {
      const damage = await damageOf(content, pace)
      if (damage !== undefined) walker.unreadable(segment, damage)
      else {
        const offset = segment.number === from.segment ? from.offset : 0
        if (await walkSegment(segment, content, offset, walker, pace)) return true
      }
    } finally {
      content.close()
    }
  }
  reportBlocked(blocked, Number.POSITIVE_INFINITY, walker)
  return false
}

/** What is in the place of a segment, or of a folder of them, and cannot be looked into. */
interface BlockedSegment {
  readonly segment: SegmentEntry
  readonly failure: ReadFailure
}

/** Those that may hide lines from a place on, in file order. A folder hides them only from the beginning. */
function blockedFrom(failures: readonly ReadFailure[], from: JournalPoint): BlockedSegment[] {
  return failures
    .map(failure => {
      const name = basename(failure.path)
      const number = parseSegmentName(name) ?? parseArchivedSegmentName(name)?.first ?? 0
      return { segment: { number, name, place: 'live' as const }, failure }
    })
    .filter(({ segment }) => segment.number >= from.segment)
    .sort((a, b) => a.segment.number - b.segment.number)
}

function reportBlocked(blocked: BlockedSegment[], upTo: number, walker: SegmentWalker): void {
  while ((blocked[0]?.segment.number ?? Number.POSITIVE_INFINITY) <= upTo) {
    const next = blocked.shift()
    if (next === undefined) return
    walker.unreadable(next.segment, next.failure)
  }
}

/** A compressed segment that cannot be unpacked to its end counts as missing: none of its lines may be read. */
async function damageOf(content: FileContent, pace: PassPacer): Promise<ReadFailure | undefined> {
  if (!content.candidate.gzip) return undefined
  for await (const chunk of content.stream()) await pace.turn(chunk.length)
  return content.failure
}

async function walkSegment(
  segment: SegmentEntry,
  content: FileContent,
  offset: number,
  walker: SegmentWalker,
  pace: PassPacer,
): Promise<boolean> {
  let reader = walker.beginSegment(segment, offset)
  let at = 0
  // A compressed file is streamed from its start; what is before the offset is skipped.
  for await (const chunk of content.stream()) {
    walker.chunk?.(chunk)
    for (let part = chunk.subarray(Math.max(0, offset - at)); ; ) {
      reader.use(part)
      while (reader.next()) {
        if (walker.lineEnd?.() === false) return true
        const pause = walker.pause?.()
        if (pause !== undefined) await pause
      }
      if (!reader.isStopped) break
      const next = walker.stopped?.()
      if (next === undefined) return true
      reader = next
      part = chunk.subarray(reader.end - at)
    }
    at += chunk.length
    if (!content.candidate.gzip) pace.advance(chunk.length)
    await pace.turn(chunk.length)
  }
  if (content.candidate.gzip) pace.advance(content.storedBytes)
  walker.endSegment(segment, content.failure)
  return false
}

/** Reads the segments of a journal in file order and reports their lines, in bounded memory, with turns for others. */

import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import {
  type Effect,
  isCount,
  isJsonObject,
  isSha256,
  type MalformedReason,
  type ReadRecord,
  type SegmentLine,
  SegmentReader,
  type UnterminatedLine,
} from '@kim/manifest'
import { type FileContent, openSegment } from '../store/file-content.js'
import { type SegmentEntry, segmentNumberOf } from '../store/listing.js'
import type { ReadFailure } from '../store/read-only-fs.js'
import type { FindingLocation } from './findings.js'
import type { PassPacer } from './pace.js'

/** A line of a segment. */
export interface LinePlace extends FindingLocation {
  readonly segment: string
  readonly offset: number
  /** Bytes without the `\n`. */
  readonly length: number
}

/** A valid record whose fate is decided. */
export interface RecordEntry extends LinePlace {
  readonly seq: number
  readonly record: ReadRecord
  readonly effect: Effect
}

/** A terminated line that is no record of any version. */
export interface MalformedEntry extends LinePlace {
  readonly reason: MalformedReason
  /** Absent if the line is too long to be held. */
  readonly bytes: Uint8Array | undefined
}

/** Length and hash of a file's content. */
export interface FileDigest {
  readonly bytes: number
  /** Lower-case hex. */
  readonly sha256: string
}

/** The digest that a note states, if it is one. */
export function digestIn(value: unknown): FileDigest | undefined {
  if (!isJsonObject(value)) return undefined
  const { bytes, sha256 } = value
  return isCount(bytes) && isSha256(sha256) ? { bytes, sha256 } : undefined
}

/** Whether two digests are of the same content. */
export function isSameDigest(a: FileDigest, b: FileDigest): boolean {
  return a.sha256 === b.sha256 && a.bytes === b.bytes
}

/** A place between two lines. */
export interface JournalPoint {
  /** Number of the segment, which its file name contains. */
  readonly segment: number
  /** Bytes of the segment before the place, unpacked. */
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
  endSegment?(segment: SegmentEntry, failure: ReadFailure | undefined): void
  /** A segment that could not be opened. */
  unreadable?(segment: SegmentEntry, failure: ReadFailure): void
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
      walker.unreadable?.(segment, opened)
      continue
    }
    const content = opened.value
    // What is no regular file was reported with the listing.
    if (content.passedOver !== undefined && segment.place === 'live')
      walker.unreadable?.(segment, content.passedOver)
    try {
      const damage = await damageOf(content, pace)
      if (damage !== undefined) walker.unreadable?.(segment, damage)
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
      const number = segmentNumberOf(failure.path) ?? 0
      return { segment: { number, name, place: 'live' as const }, failure }
    })
    .filter(({ segment }) => segment.number >= from.segment)
    .sort((a, b) => a.segment.number - b.segment.number)
}

function reportBlocked(blocked: BlockedSegment[], upTo: number, walker: SegmentWalker): void {
  while ((blocked[0]?.segment.number ?? Number.POSITIVE_INFINITY) <= upTo) {
    const next = blocked.shift()
    if (next === undefined) return
    walker.unreadable?.(next.segment, next.failure)
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
  walker.endSegment?.(segment, content.failure)
  return false
}

/** How reading a segment ended. */
export interface SegmentEnd extends FileDigest {
  /** What follows the last `\n`. */
  readonly pending: UnterminatedLine
  /** Records of a run that the newest segment ends inside. */
  readonly openRun: readonly RecordEntry[]
  /** Why it could not be read to its end, if it could not. */
  readonly failure: ReadFailure | undefined
}

/** What becomes of a valid record: it has its effect, it repeats a line, or its run can no longer become complete. */
export type RecordFate = 'applied' | 'repeated' | 'dropped'

/** What a walk reports, in file order. */
export interface JournalSink {
  beginSegment?(segment: SegmentEntry): void
  /** A line that holds a valid record, before its fate is decided. */
  line(record: ReadRecord, effect: Effect, bytes: Uint8Array, place: LinePlace): void
  /** A valid record once its fate is decided. */
  record(entry: RecordEntry, fate: RecordFate): void
  /** Consecutive records that never have an effect; each was reported as a record before. */
  dropped?(entries: readonly RecordEntry[]): void
  malformed(entry: MalformedEntry): void
  future(seq: number | undefined, place: LinePlace): void
  /** Something that must be awaited before the next line, if anything must. */
  pause?(): Promise<void> | undefined
  endSegment(segment: SegmentEntry, end: SegmentEnd): void
  /** A segment that could not be opened. */
  unreadable(segment: SegmentEntry, failure: ReadFailure): void
}

/** A line's record with its place and effect. */
export function entryOf(segment: string, { record, effect, offset, length }: SegmentLine): RecordEntry {
  return { segment, offset, length, seq: record.seq, record, effect }
}

/** The place of a record, without the record. */
export function placeOf({ segment, offset, seq }: RecordEntry): FindingLocation & { readonly seq: number } {
  return { segment, offset, seq }
}

/** Reports the lines of each segment, and its digest. */
export async function walkJournal(
  eventsDir: string,
  segments: readonly SegmentEntry[],
  sink: JournalSink,
  pace: PassPacer,
): Promise<void> {
  let reader = new SegmentReader({})
  let hash = createHash('sha256')
  let bytes = 0
  const walker: SegmentWalker = {
    beginSegment(entry) {
      const segment = entry.name
      sink.beginSegment?.(entry)
      hash = createHash('sha256')
      bytes = 0
      reader = new SegmentReader({
        valid({ offset, length, record, effect, bytes }) {
          sink.line(record, effect, bytes, { segment, offset, length })
          return true
        },
        released: line => sink.record(entryOf(segment, line), 'applied'),
        repeated: line => sink.record(entryOf(segment, line), 'repeated'),
        dropped(lines) {
          const entries = lines.map(line => entryOf(segment, line))
          for (const each of entries) sink.record(each, 'dropped')
          sink.dropped?.(entries)
        },
        malformed: line => sink.malformed({ segment, ...line }),
        future: (seq, { offset, length }) => sink.future(seq, { segment, offset, length }),
      })
      return reader
    },
    chunk(chunk) {
      hash.update(chunk)
      bytes += chunk.length
    },
    pause: () => sink.pause?.(),
    endSegment(segment, failure) {
      if (segment !== segments.at(-1)) reader.finish()
      const { unterminated: pending, open } = reader
      const openRun = open.map(line => entryOf(segment.name, line))
      sink.endSegment(segment, { bytes, sha256: hash.digest('hex'), pending, openRun, failure })
    },
    unreadable: (segment, failure) => sink.unreadable(segment, failure),
  }
  await walkSegments(eventsDir, { segments }, walker, pace)
}

/** The lines of a journal in file order, from any place on, until the reader has had enough. */
import { basename } from 'node:path'
import {
  type FramedLine,
  LineFramer,
  type PendingBytes,
  parseArchivedSegmentName,
  parseSegmentName,
} from '@kim/manifest'
import type { FileContent } from '../store/file-content.js'
import type { SegmentEntry } from '../store/listing.js'
import type { Failure } from '../store/outcome.js'
import { openSegment } from '../store/store-files.js'
import type { History } from '../tail/history.js'
import type { Pace } from '../verify/pace.js'
import type { CopiedJournal } from './copied-journal.js'

/** A place between two lines. */
export interface Mark {
  readonly segment: number
  readonly offset: number
}

/** What a walk tells, in file order. */
export interface LineSink {
  beginSegment(segment: SegmentEntry): void
  /** The next line; false ends the walk, and the line is not taken. */
  line(line: FramedLine, segment: SegmentEntry): boolean
  /** Something that must be awaited before the next line, if anything must. */
  pause?(): Promise<void> | undefined
  endSegment(segment: SegmentEntry, pending: PendingBytes, failure: Failure | undefined): void
  unreadable(segment: SegmentEntry, failure: Failure): void
}

/** Leads a sink through the lines from `from` on, in bounded memory; true if the sink ended it. */
export async function walkLines(
  { eventsDir, history }: CopiedJournal,
  sink: LineSink,
  pace: Pace,
  from: Mark = { segment: 0, offset: 0 },
): Promise<boolean> {
  const blocked = blockedIn(history, from)
  const segments = history.segments.filter(({ number }) => number >= from.segment)
  for (const segment of segments) {
    tellBlocked(blocked, segment.number, sink)
    const opened = openSegment(eventsDir, segment.number)
    if (!opened.ok) {
      sink.unreadable(segment, opened)
      continue
    }
    const content = opened.value
    // What is no regular file was told with the listing.
    if (content.passedOver !== undefined && segment.place === 'live')
      sink.unreadable(segment, content.passedOver)
    try {
      const damage = await damageOf(content, pace)
      if (damage !== undefined) sink.unreadable(segment, damage)
      else if (
        await walkSegment(segment, content, segment.number === from.segment ? from.offset : 0, sink, pace)
      )
        return true
    } finally {
      content.close()
      pace.advance(content.storedBytes)
    }
  }
  tellBlocked(blocked, Number.POSITIVE_INFINITY, sink)
  return false
}

/** What stands in the place of a segment, or of a folder of them, and cannot be looked into. */
interface Blocked {
  readonly segment: SegmentEntry
  readonly failure: Failure
}

/** Those that may hide lines from a place on, in file order; a folder hides them only from who begins at the beginning. */
function blockedIn({ listing }: History, from: Mark): Blocked[] {
  return listing.failures
    .map(failure => {
      const name = basename(failure.path)
      const number = parseSegmentName(name) ?? parseArchivedSegmentName(name)?.first ?? 0
      return { segment: { number, name, place: 'live' as const }, failure }
    })
    .filter(({ segment }) => segment.number >= from.segment)
    .sort((a, b) => a.segment.number - b.segment.number)
}

function tellBlocked(blocked: Blocked[], upTo: number, sink: LineSink): void {
  while ((blocked[0]?.segment.number ?? Number.POSITIVE_INFINITY) <= upTo) {
    const next = blocked.shift()
    if (next === undefined) return
    sink.unreadable(next.segment, next.failure)
  }
}

/** A compressed segment that cannot be unpacked to its end counts as gone: none of its lines may be told. */
async function damageOf(content: FileContent, pace: Pace): Promise<Failure | undefined> {
  if (!content.candidate.gzip) return undefined
  for await (const chunk of content.stream()) await pace.turn(chunk.length)
  return content.failure
}

async function walkSegment(
  segment: SegmentEntry,
  content: FileContent,
  offset: number,
  sink: LineSink,
  pace: Pace,
): Promise<boolean> {
  // A compressed file is streamed from its start; what stands before the offset is passed over.
  const framer = new LineFramer()
  sink.beginSegment(segment)
  for await (const chunk of content.stream()) {
    for (const line of framer.push(chunk)) {
      if (line.offset < offset) continue
      if (!sink.line(line, segment)) return true
      const pause = sink.pause?.()
      if (pause !== undefined) await pause
    }
    await pace.turn(chunk.length)
  }
  sink.endSegment(segment, framer.pending, content.failure)
  return false
}

import { createHash, type Hash } from 'node:crypto'
import {
  type Effect,
  type MalformedLine,
  type ReadRecord,
  type SegmentLine,
  SegmentReader,
  type UnterminatedLine,
} from '@kim/manifest'
import type { SegmentEntry } from '../store/listing.js'
import type { ReadFailure } from '../store/read-only-fs.js'
import type { LinePlace, MalformedEntry, RecordEntry } from './entry.js'
import type { FileDigest } from './file-digest.js'
import type { PassPacer } from './pace.js'
import { type SegmentWalker, walkSegments } from './walk-segments.js'

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
  beginSegment(segment: SegmentEntry): void
  /** A line that holds a valid record, before its fate is decided. */
  line(record: ReadRecord, effect: Effect, bytes: Uint8Array, place: LinePlace): void
  /** A valid record once its fate is decided. */
  record(entry: RecordEntry, fate: RecordFate): void
  /** Consecutive records that never have an effect; each was reported as a record before. */
  dropped(entries: readonly RecordEntry[]): void
  malformed(entry: MalformedEntry): void
  future(seq: number | undefined, place: LinePlace): void
  /** Something that must be awaited before the next line, if anything must. */
  pause(): Promise<void> | undefined
  endSegment(segment: SegmentEntry, end: SegmentEnd): void
  /** A segment that could not be opened. */
  unreadable(segment: SegmentEntry, failure: ReadFailure): void
}

/** Leads a sink through the lines of a journal, in bounded memory. */
export async function walkJournal(
  eventsDir: string,
  segments: readonly SegmentEntry[],
  sink: JournalSink,
  pace: PassPacer,
): Promise<void> {
  await walkSegments(eventsDir, { segments }, new JournalWalk(sink, segments.at(-1)), pace)
}

/** A line's record with its place and effect. */
export function entryOf(segment: string, { record, effect, offset, length }: SegmentLine): RecordEntry {
  return { segment, offset, length, seq: record.seq, record, effect }
}

/** Reports the lines of each segment with its digest. */
class JournalWalk implements SegmentWalker {
  readonly #sink: JournalSink
  readonly #newest: SegmentEntry | undefined
  #reader = new SegmentReader({})
  #hash: Hash = createHash('sha256')
  #bytes = 0

  constructor(sink: JournalSink, newest: SegmentEntry | undefined) {
    this.#sink = sink
    this.#newest = newest
  }

  beginSegment(entry: SegmentEntry): SegmentReader {
    const { name: segment } = entry
    const sink = this.#sink
    this.#hash = createHash('sha256')
    this.#bytes = 0
    sink.beginSegment(entry)
    this.#reader = new SegmentReader({
      valid(line) {
        const { offset, length, record, effect, bytes } = line
        sink.line(record, effect, bytes, { segment, offset, length })
        return true
      },
      released: line => sink.record(entryOf(segment, line), 'applied'),
      repeated: line => sink.record(entryOf(segment, line), 'repeated'),
      dropped(lines) {
        const entries = lines.map(line => entryOf(segment, line))
        for (const each of entries) sink.record(each, 'dropped')
        sink.dropped(entries)
      },
      malformed: (line: MalformedLine) => sink.malformed({ segment, ...line }),
      future: (seq, { offset, length }) => sink.future(seq, { segment, offset, length }),
    })
    return this.#reader
  }

  chunk(bytes: Uint8Array): void {
    this.#hash.update(bytes)
    this.#bytes += bytes.length
  }

  pause(): Promise<void> | undefined {
    return this.#sink.pause()
  }

  endSegment(segment: SegmentEntry, failure: ReadFailure | undefined): void {
    const reader = this.#reader
    if (segment !== this.#newest) reader.finish()
    this.#sink.endSegment(segment, {
      bytes: this.#bytes,
      sha256: this.#hash.digest('hex'),
      pending: reader.unterminated,
      openRun: reader.open.map(line => entryOf(segment.name, line)),
      failure,
    })
  }

  unreadable(segment: SegmentEntry, failure: ReadFailure): void {
    this.#sink.unreadable(segment, failure)
  }
}

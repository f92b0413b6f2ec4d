import { createHash } from 'node:crypto'
import {
  decodeLine,
  type Effect,
  effectOf,
  type FramedLine,
  LineFramer,
  type PendingBytes,
  type ReadRecord,
  TxTracker,
} from '@kim/manifest'
import type { FileContent } from '../store/file-content.js'
import type { SegmentEntry } from '../store/listing.js'
import type { Failure } from '../store/outcome.js'
import { openSegment } from '../store/store-files.js'
import { lineMark } from './duplicate-lines.js'
import type { LinePlace, MalformedEntry, RecordEntry } from './entry.js'
import type { FileDigest } from './file-digest.js'
import type { Pace } from './pace.js'

/** How reading a segment ended. */
export interface SegmentEnd extends FileDigest {
  /** What stands after the last `\n`. */
  readonly pending: PendingBytes
  /** Records of a run that the newest segment ends inside. */
  readonly openRun: readonly RecordEntry[]
  /** Why it could not be read to its end, if it could not. */
  readonly failure: Failure | undefined
}

/** What a walk tells, in file order. */
export interface JournalSink {
  beginSegment(segment: SegmentEntry): void
  /** A line that holds a valid record, as it stands. */
  line(record: ReadRecord, effect: Effect, bytes: Uint8Array, place: LinePlace): void
  /** A valid record once its fate is decided; `applies` is false where its run can no longer become complete. */
  record(entry: RecordEntry, applies: boolean): void
  /** Consecutive records that never have an effect; each was told as a record before. */
  dropped(entries: readonly RecordEntry[]): void
  malformed(entry: MalformedEntry): void
  future(seq: number | undefined, place: LinePlace): void
  /** Something that must be awaited before the next line, if anything must. */
  pause(): Promise<void> | undefined
  endSegment(segment: SegmentEntry, end: SegmentEnd): void
  /** A segment that could not be opened. */
  unreadable(segment: SegmentEntry, failure: Failure): void
}

/** Leads a sink through the lines of a journal, in bounded memory. */
export async function walkJournal(
  eventsDir: string,
  segments: readonly SegmentEntry[],
  sink: JournalSink,
  pace: Pace,
): Promise<void> {
  const newest = segments.at(-1)
  for (const segment of segments) {
    const opened = openSegment(eventsDir, segment.number)
    if (!opened.ok) {
      sink.unreadable(segment, opened)
      continue
    }
    const { passedOver } = opened.value
    // What is no regular file was told with the listing.
    if (passedOver !== undefined && segment.place === 'live') sink.unreadable(segment, passedOver)
    try {
      const damage = await damageOf(opened.value, pace)
      if (damage === undefined) await walkSegment(segment, opened.value, segment === newest, sink, pace)
      else sink.unreadable(segment, damage)
    } finally {
      opened.value.close()
    }
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
  isNewest: boolean,
  sink: JournalSink,
  pace: Pace,
): Promise<void> {
  const lines = new SegmentLines(segment.name, sink)
  const framer = new LineFramer()
  const hash = createHash('sha256')
  let bytes = 0
  sink.beginSegment(segment)
  for await (const chunk of content.stream()) {
    hash.update(chunk)
    bytes += chunk.length
    for (const line of framer.push(chunk)) {
      lines.line(line)
      const pause = sink.pause()
      if (pause !== undefined) await pause
    }
    if (!content.candidate.gzip) pace.advance(chunk.length)
    await pace.turn(chunk.length)
  }
  if (content.candidate.gzip) pace.advance(content.storedBytes)
  const openRun = lines.end(isNewest)
  const { failure } = content
  sink.endSegment(segment, { bytes, sha256: hash.digest('hex'), pending: framer.pending, openRun, failure })
}

/** Decodes the lines of one segment and decides the fate of its runs. */
class SegmentLines {
  readonly #segment: string
  readonly #sink: JournalSink
  readonly #runs = new TxTracker<RecordEntry>()

  constructor(segment: string, sink: JournalSink) {
    this.#segment = segment
    this.#sink = sink
  }

  line(line: FramedLine): void {
    if (line.kind === 'too_long') {
      const { offset, length } = line
      this.#drop(this.#runs.interrupt())
      this.#sink.malformed({ segment: this.#segment, offset, length, reason: 'too_long', bytes: undefined })
      return
    }
    const { bytes, offset, atFileStart } = line
    const decoded = decodeLine(bytes, atFileStart)
    if (decoded.kind === 'blank') return
    const segment = this.#segment
    const { length } = bytes
    const place = { segment, offset, length }
    if (decoded.kind === 'record') {
      const { record } = decoded
      const effect = effectOf(record)
      this.#sink.line(record, effect, bytes, place)
      const { seq } = record
      this.#record({ segment, offset, length, seq, record, effect, mark: lineMark(bytes) })
      return
    }
    this.#drop(this.#runs.interrupt())
    if (decoded.kind === 'future') this.#sink.future(decoded.seq, place)
    else this.#sink.malformed({ ...place, reason: decoded.reason, bytes })
  }

  /** The segment ends; returns what may still become complete. */
  end(isNewest: boolean): readonly RecordEntry[] {
    if (isNewest) return this.#runs.pending
    this.#drop(this.#runs.interrupt())
    return []
  }

  #record(entry: RecordEntry): void {
    if (entry.record.tx === undefined && !this.#runs.isOpen) {
      this.#sink.record(entry, true)
      return
    }
    const { dropped, released } = this.#runs.record(entry.record, entry)
    this.#drop(dropped)
    for (const each of released) this.#sink.record(each, true)
  }

  #drop(entries: readonly RecordEntry[]): void {
    if (entries.length === 0) return
    for (const entry of entries) this.#sink.record(entry, false)
    this.#sink.dropped(entries)
  }
}

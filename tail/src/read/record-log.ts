import { eventsPaths, KimError, recordsBackwards, type SegmentLine, SegmentReader } from '@kim/manifest'
import {
  type FileContent,
  listStore,
  noJournalAt,
  openSegment,
  type ReadFailure,
  type SegmentEntry,
} from '@kim/observer-sdk/history'
import type { RecordLine } from '../record-line.js'

/**
 * What stands in a journal now, read from either end without building any state: for commands that print and
 * are done. Live and archived segments alike.
 */
export class RecordLog {
  readonly eventsDir: string
  readonly segments: readonly SegmentEntry[]
  readonly #failures = new Map<string, ReadFailure>()

  private constructor(
    eventsDir: string,
    segments: readonly SegmentEntry[],
    failures: readonly ReadFailure[],
  ) {
    this.eventsDir = eventsDir
    this.segments = segments
    const { checkpoints } = eventsPaths(eventsDir)
    // What a checkpoint says stands in the segments too.
    for (const failure of failures)
      if (failure.path !== checkpoints) this.#failures.set(failure.path, failure)
  }

  /** Lists the journal; undefined if nothing is there. */
  static open(eventsDir: string): RecordLog | undefined {
    const listing = listStore(eventsDir)
    if (!listing.ok && listing.reason === 'absent') return undefined
    // What is there and is no journal will not become one: that is said at once, also to those who would wait.
    const missing = listing.ok && listing.value.segments.length > 0 ? undefined : noJournalAt(eventsDir)
    if (missing !== undefined) throw missing
    if (listing.ok) return new RecordLog(eventsDir, listing.value.segments, listing.value.failures)
    const code = listing.code === 'EACCES' || listing.code === 'EPERM' ? 'not_permitted' : 'store_failed'
    throw new KimError(code, `cannot read ${listing.path}: ${listing.code}`)
  }

  /** What is there and could not be read, as far as anybody tried. */
  get failures(): readonly ReadFailure[] {
    return [...this.#failures.values()]
  }

  /** Tries every segment. */
  tryAll(): void {
    for (const segment of this.segments) this.#open(segment)?.close()
  }

  /** Records that have an effect, newest first. */
  *backwards(
    wanted?: (line: Buffer) => boolean,
    stop?: (segment: SegmentEntry) => boolean,
  ): Generator<RecordLine> {
    for (const segment of this.segments.toReversed()) {
      yield* this.#read(segment, content => recordsBackwards(content, wanted))
      if (stop?.(segment) === true) return
    }
  }

  /** Records that have an effect, in file order, from the segment with this number on. */
  *forwards(fromSegment = 0): Generator<RecordLine> {
    for (const segment of this.segments) {
      if (segment.number >= fromSegment) yield* this.segment(segment)
    }
  }

  /** Records of one segment that have an effect, in file order. */
  segment(segment: SegmentEntry): Generator<RecordLine> {
    return this.#read(segment, recordsForwards)
  }

  /** The last record that stands there. */
  newest(): RecordLine | undefined {
    for (const entry of this.backwards()) return entry
    return undefined
  }

  /** The segment that holds a seq if any does: the one with the highest number not above it. */
  segmentOf(seq: number): SegmentEntry | undefined {
    return this.segments.findLast(segment => segment.number <= seq)
  }

  /** The first record of a segment, whatever it is. */
  firstOf(segment: SegmentEntry): RecordLine | undefined {
    for (const entry of this.segment(segment)) return entry
    return undefined
  }

  /** The last record of a segment that has an effect. */
  lastOf(segment: SegmentEntry): RecordLine | undefined {
    for (const entry of this.#read(segment, content => recordsBackwards(content))) return entry
    return undefined
  }

  *#read(segment: SegmentEntry, use: (content: FileContent) => Iterable<SegmentLine>): Generator<RecordLine> {
    const content = this.#open(segment)
    if (content === undefined) return
    try {
      for (const { record, bytes } of use(content)) yield { record, line: bytes }
    } finally {
      content.close()
    }
  }

  /** What cannot be opened is not available. */
  #open({ number }: SegmentEntry): FileContent | undefined {
    const opened = openSegment(this.eventsDir, number)
    if (opened.ok) return opened.value
    // What went meanwhile is no failure.
    if (opened.reason === 'unreadable') this.#failures.set(opened.path, opened)
    return undefined
  }
}

/** The records of a segment that have an effect, in file order. */
function* recordsForwards(content: FileContent): Generator<SegmentLine> {
  let released: SegmentLine[] = []
  const reader = new SegmentReader({ released: line => void released.push(line) })
  for (const chunk of content.chunks()) {
    reader.push(chunk)
    yield* released
    released = []
  }
}

/** The records of a journal that exist now, from either end, without following it and without a state. */
import {
  eventsPaths,
  KimError,
  lastSeqOf,
  recordsBackwards,
  type SegmentLine,
  SegmentReader,
} from '@kim/manifest'
import { type FileContent, openSegment } from '../store/file-content.js'
import { listStore, type SegmentEntry } from '../store/listing.js'
import { noJournalAt } from '../store/no-journal.js'
import type { ReadFailure } from '../store/read-only-fs.js'
import type { JournalLine } from './journal-reader.js'
import type { Gap } from './locate.js'
import { directoryProjectId, statedProjectId } from './project-id.js'

/**
 * Lists the segments of an `events` directory; undefined if there is none. What is in its place and is no journal, or
 * cannot be listed, is a `KimError`: it will not become a journal by itself.
 *
 * @example
 * for (const { record } of openHistory(eventsDir)?.backwards() ?? []) console.log(record.seq, record.summary)
 */
export function openHistory(eventsDir: string): JournalHistory | undefined {
  const listing = listStore(eventsDir)
  if (!listing.ok && listing.reason === 'absent') return undefined
  const missing = listing.ok && listing.value.segments.length > 0 ? undefined : noJournalAt(eventsDir)
  if (missing !== undefined) throw missing
  if (listing.ok) return new JournalHistory(eventsDir, listing.value.segments, listing.value.failures)
  const code = listing.code === 'EACCES' || listing.code === 'EPERM' ? 'not_permitted' : 'store_failed'
  throw new KimError(code, `cannot read ${listing.path}: ${listing.code}`)
}

/** The records of one listing, live and archived. Each call reads the files again; what cannot be read is left out. */
export class JournalHistory {
  readonly eventsDir: string
  /** All segments, ascending by number. */
  readonly segments: readonly SegmentEntry[]
  readonly #failures = new Map<string, ReadFailure>()
  #projectId: string | undefined

  constructor(eventsDir: string, segments: readonly SegmentEntry[], failures: readonly ReadFailure[]) {
    this.eventsDir = eventsDir
    this.segments = segments
    const { checkpoints } = eventsPaths(eventsDir)
    // What a checkpoint holds is in the segments too.
    for (const failure of failures)
      if (failure.path !== checkpoints) this.#failures.set(failure.path, failure)
  }

  /** The id that cursors of this journal are stored under. */
  get projectId(): string {
    this.#projectId ??= statedProjectId(this) ?? directoryProjectId(this.eventsDir)
    return this.#projectId
  }

  /** What exists and could not be read so far. */
  get failures(): readonly ReadFailure[] {
    return [...this.#failures.values()]
  }

  /** Tries to open every segment, so that `failures` names each one that cannot be read. */
  tryAll(): void {
    for (const { number } of this.segments) this.read(number, () => undefined)
  }

  /** Records that have an effect, newest first. `wanted` skips lines by their bytes; `stop` ends after a segment. */
  *backwards(
    wanted?: (line: Buffer) => boolean,
    stop?: (segment: SegmentEntry) => boolean,
  ): Generator<JournalLine> {
    for (const segment of this.segments.toReversed()) {
      yield* this.#lines(segment, content => recordsBackwards(content, wanted))
      if (stop?.(segment) === true) return
    }
  }

  /** Records that have an effect, in file order, from the segment with this number on. */
  *forwards(fromSegment = 0): Generator<JournalLine> {
    for (const segment of this.segments) {
      if (segment.number >= fromSegment) yield* this.segment(segment)
    }
  }

  /** Records of one segment that have an effect, in file order. */
  segment(segment: SegmentEntry): Generator<JournalLine> {
    return this.#lines(segment, recordsForwards)
  }

  /** The last record of the journal. */
  newest(): JournalLine | undefined {
    for (const line of this.backwards()) return line
    return undefined
  }

  /** The segment that holds a seq if any does: the one with the highest number not above it. */
  segmentOf(seq: number): SegmentEntry | undefined {
    return this.segments.findLast(({ number }) => number <= seq)
  }

  /** The first record of a segment that has an effect. */
  firstOf(segment: SegmentEntry): JournalLine | undefined {
    for (const line of this.segment(segment)) return line
    return undefined
  }

  /** The last record of a segment that has an effect. */
  lastOf(segment: SegmentEntry): JournalLine | undefined {
    for (const line of this.#lines(segment, content => recordsBackwards(content))) return line
    return undefined
  }

  /**
   * The records that are missing above one seq and below another. A segment is named by the seq that came next when it
   * began: so the one before it ends right below, or something between them is missing.
   */
  missing(after: number, before: number): Gap[] {
    const gaps: Gap[] = []
    const first = this.segments.findLastIndex(({ number }) => number <= after + 1)
    for (let at = Math.max(1, first); before > after + 1; at++) {
      const [older, newer] = [this.segments[at - 1], this.segments[at]]
      if (older === undefined || newer === undefined || newer.number > before) break
      const last = this.read(older.number, lastSeqOf) ?? older.number - 1
      const from = Math.max(last, after) + 1
      if (from < newer.number) gaps.push({ from, to: newer.number - 1, reason: 'missing' })
    }
    return gaps
  }

  /** Runs `use` over a segment's content; undefined if it cannot be opened. */
  read<T>(number: number, use: (content: FileContent) => T): T | undefined {
    const content = this.#open(number)
    if (content === undefined) return undefined
    try {
      return use(content)
    } finally {
      content.close()
    }
  }

  *#lines(
    { number }: SegmentEntry,
    use: (content: FileContent) => Iterable<SegmentLine>,
  ): Generator<JournalLine> {
    const content = this.#open(number)
    if (content === undefined) return
    try {
      for (const { record, bytes, offset } of use(content))
        yield { record, line: bytes, segment: number, offset }
    } finally {
      content.close()
    }
  }

  #open(number: number): FileContent | undefined {
    const opened = openSegment(this.eventsDir, number)
    if (opened.ok) return opened.value
    // A segment that was moved or deleted meanwhile is no failure.
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

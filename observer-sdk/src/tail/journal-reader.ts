/** Reads records on from a place in the journal, and shares what was read between the observers of one process. */
import type { Buffer } from 'node:buffer'
import {
  type AnomalyKind,
  type Head,
  isPeakBefore,
  type ReadRecord,
  type SegmentLine,
  type SegmentListener,
  SegmentReader,
} from '@kim/manifest'
import { type FileContent, openSegment } from '../store/file-content.js'
import type { JournalDirectory, Tip } from './directory.js'

/** Most bytes read at a time. */
const CHUNK_BYTES = 256 * 1024

/** How much more than was asked for is read to come to the end of a transaction, about as much as a commit holds. */
const RUN_BYTES = 1024 * 1024

/**
 * A place between two lines. It is only a hint in memory: a cursor names a seq and a writer, and is turned into a place
 * by looking.
 */
export interface BytePosition {
  /** Number of the segment; 0 is before every segment. */
  readonly segment: number
  readonly offset: number
  /** The highest seq of the lines before it in its segment. */
  readonly peak: number
}

/** Before everything there is. */
export const ORIGIN: BytePosition = { segment: 0, offset: 0, peak: 0 }

/** Whether one place is before another. */
export function isBefore(a: BytePosition, b: BytePosition): boolean {
  return a.segment < b.segment || (a.segment === b.segment && a.offset < b.offset)
}

/** Whether two positions are one place. */
export function isSamePlace(a: BytePosition, b: BytePosition): boolean {
  return a.segment === b.segment && a.offset === b.offset
}

/** A record, the line that holds it, and where that line is. */
export interface JournalLine {
  readonly record: ReadRecord
  /** The stored bytes without the `\n`. Part of a larger buffer: copy what you keep for long. */
  readonly line: Uint8Array
  /** Number of the segment, which its file name contains. */
  readonly segment: number
  /** Where the line begins in its segment, in bytes. */
  readonly offset: number
}

/** A line that was just read. Its bytes are cut out when they are asked for: most consumers never do. */
export class ReadLine implements JournalLine {
  readonly record: ReadRecord
  readonly segment: number
  readonly offset: number
  readonly #line: SegmentLine
  #image: string | undefined

  constructor(line: SegmentLine, segment: number) {
    this.record = line.record
    this.segment = segment
    this.offset = line.offset
    this.#line = line
  }

  get line(): Uint8Array {
    return this.#line.bytes
  }

  /** What the states of all observers of this process keep of it. */
  get image(): string {
    this.#image ??= this.#line.latin1
    return this.#image
  }
}

/** Records that follow one another, and the places they are between. */
export interface Batch {
  readonly from: BytePosition
  readonly to: BytePosition
  /** The records that apply, in order; those of one transaction are never in two batches. */
  readonly entries: readonly ReadLine[]
  /** What else was found, by anomaly kind. */
  readonly counts: ReadonlyMap<AnomalyKind, number>
  /** The highest of all valid records read, those without effect included; the later one wins. */
  readonly passed: Head | undefined
  /** Seqs of lines without effect that count for continuity, each with the number of entries before it. */
  readonly idle: readonly { readonly seq: number; readonly before: number }[]
  /** True if there may be more at hand already. */
  readonly more: boolean
  /** True if records before `entries` are missing and were never read. */
  readonly skipped: boolean
  /** Why nothing after `to` can be read: what was read before is no longer what is there. */
  readonly lost?: 'segment_shrunk' | 'segment_replaced' | undefined
}

/** What one call of `read` gathers. */
class Gathering {
  readonly entries: ReadLine[] = []
  readonly counts = new Map<AnomalyKind, number>()
  readonly idle: { seq: number; before: number }[] = []
  #highest: ReadRecord | undefined
  more = false
  skipped = false
  lost: Batch['lost']

  count(kind: AnomalyKind): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1)
  }

  /** A line without effect. */
  sit(seq: number): void {
    this.idle.push({ seq, before: this.entries.length })
  }

  /** A valid record, with an effect or without. */
  pass({ defects, record }: SegmentLine): void {
    for (const kind of defects) this.count(kind)
    if (record.seq >= (this.#highest?.seq ?? 0)) this.#highest = record
  }

  toBatch(from: BytePosition, to: BytePosition): Batch {
    const { counts, idle, lost, more, skipped } = this
    // Consumers are handed this very list.
    const entries = Object.freeze(this.entries)
    const passed = this.#highest && { seq: this.#highest.seq, writer: this.#highest.writer ?? null }
    return { from, to, entries, counts, idle, passed, more, skipped, lost }
  }
}

/** What reading at the end comes to. */
export function nothingAt(position: BytePosition, passed: Head): Batch {
  return { ...new Gathering().toBatch(position, position), passed }
}

/** Follows segments from a place: each byte is read once, a torn line and an open transaction are waited for. */
export class JournalReader {
  readonly #directory: JournalDirectory
  #position: BytePosition
  /** Where to read on, if that is elsewhere. */
  #sought: BytePosition | undefined
  /** The next byte to read; behind the last line, at most one before it is not terminated. */
  #at: number
  #lines: SegmentReader
  /** What the lines that are read now are gathered in. */
  #found: Gathering = new Gathering()
  /** A compressed segment while it is read: it can only be inflated whole. */
  #inflated: { readonly segment: number; readonly bytes: Buffer } | undefined

  /** Identity of the compressed copy that the present place is one of. */
  #copy: string | undefined

  /** Identity of the live segment that this batch comes from. */
  #source: string | undefined

  /** The newest segment as it was seen before this read. */
  #tip: Tip | undefined

  /** Whether the last look at the segment came to its end. */
  #atEnd = true

  /** The segment that could not be read at the last attempt: an occasion is counted once. */
  #unreadable: number | undefined

  constructor(directory: JournalDirectory, position: BytePosition) {
    this.#directory = directory
    this.#position = position
    this.#at = position.offset
    this.#lines = this.#linesFrom(position)
    this.#copy = directory.copies.get(position.segment)
  }

  /** Where the next batch begins. */
  get position(): BytePosition {
    return this.#sought ?? this.#position
  }

  /** Goes on from another place. */
  seek(position: BytePosition): void {
    const from = this.position
    if (isSamePlace(position, from)) return
    this.#inflated = position.segment === this.#inflated?.segment ? this.#inflated : undefined
    if (position.segment !== from.segment) this.#copy = undefined
    this.#sought = position
  }

  /** Applies a pending seek: it was set while this reader took what others had read. */
  #arrive(): void {
    if (this.#sought !== undefined) this.#goTo(this.#sought)
    this.#sought = undefined
  }

  #goTo(position: BytePosition): void {
    this.#position = position
    this.#at = position.offset
    this.#lines = this.#linesFrom(position)
  }

  /**
   * What is at hand, up to about so many bytes; an empty batch if there is nothing. Never throws. `tip`: the newest segment
   * as it was seen in this turn.
   */
  read(bytesMax: number, tip?: Tip): Batch {
    const others = sharedBatch(this.#directory, this.position, bytesMax, tip)
    if (others !== undefined) {
      this.seek(others.to)
      return others
    }
    this.#arrive()
    const from = this.#position
    this.#source = undefined
    this.#tip = tip
    const found = new Gathering()
    for (let left = bytesMax; ; ) {
      // A part of a transaction cannot be shared: every observer would read it for itself. What came before one can be, and
      // a consumer that waits for it does not wait for one transaction after another.
      if (left <= 0 && !(found.entries.length === 0 && this.#lines.open.length > 0 && left > -RUN_BYTES)) {
        found.more = true
        break
      }
      // Before the bytes: what was appended here before the next segment came is still read.
      const next = this.#directory.after(this.#position.segment)
      const read = this.#position.segment === 0 ? 0 : this.#readSegment(left > 0 ? left : bytesMax, found)
      if (read === undefined) break
      left -= read
      // The end that was reached is that of the moment the file was opened, which was after `next` was looked for.
      if (!this.#atEnd) continue
      if (next === undefined) break
      this.#found = found
      this.#lines.finish()
      const isMissing = next > this.#position.peak + 1
      this.seek({ segment: next, offset: 0, peak: 0 })
      this.#arrive()
      // The gap goes before the first record of the next segment: that begins a batch.
      if (isMissing && found.entries.length > 0) {
        found.more = true
        break
      }
    }
    const batch = found.toBatch(from, this.#position)
    const { counts, entries, lost, skipped, to } = batch
    const source = this.#source as string | undefined
    const { identity: directory } = this.#directory
    const isWhole = lost === undefined && !skipped && !counts.has('unreadable')
    if (
      isWhole &&
      source !== undefined &&
      directory !== undefined &&
      to.segment === from.segment &&
      entries.length > 0
    )
      shareBatch(batch, { directory, file: source, readTo: this.#at, bytesMax })
    return batch
  }

  /** How many bytes were read; undefined if nothing more can be now. */
  #readSegment(bytesMax: number, found: Gathering): number | undefined {
    const { segment } = this.#position
    if (this.#inflated?.segment === segment) {
      const part = this.#inflated.bytes.subarray(this.#at, this.#at + Math.min(bytesMax, CHUNK_BYTES))
      this.#take(part, found)
      this.#atEnd = this.#at >= this.#inflated.bytes.length
      return part.length
    }
    this.#atEnd = true
    const tip = this.#tip
    const { known } = this.#directory
    if (tip?.ahead?.offset === this.#at && tip.number === segment && known.get(segment) === tip.identity) {
      const { bytes } = tip.ahead
      this.#source = tip.identity
      this.#take(bytes, found)
      this.#atEnd = tip.isLonger !== true
      return bytes.length
    }
    const opened = this.#directory.openSegment(segment, tip)
    if (!opened.ok) {
      if (opened.reason === 'unreadable') this.#countUnreadable(found)
      return this.#pass(found)
    }
    try {
      return this.#readContent(opened.value, bytesMax, found)
    } finally {
      // A file that was opened for this is longer by now than the tip says.
      if (this.#directory.closeSegment(segment, opened.value) === 'held') this.#tip = undefined
    }
  }

  #readContent(content: FileContent, bytesMax: number, found: Gathering): number | undefined {
    const { segment } = this.#position
    const { known } = this.#directory
    if (content.passedOver !== undefined) {
      this.#directory.passedOver.unreadable(segment, content)
      this.#countUnreadable(found)
    }
    // The copy behind a file that cannot be read is no replacement of it.
    if (!content.candidate.gzip && content.passedOver === undefined) {
      const identity = known.get(segment)
      if (identity !== undefined && identity !== content.identity) found.lost = 'segment_replaced'
      else known.set(segment, content.identity)
      this.#source = content.candidate.place === 'live' ? content.identity : undefined
    }
    if (found.lost === undefined && content.bytes < this.#at) found.lost = 'segment_shrunk'
    if (found.lost === undefined && content.candidate.gzip && !this.#goesOnIn(content))
      found.lost = 'segment_replaced'
    if (found.lost !== undefined) return undefined
    const wanted = Math.min(bytesMax, CHUNK_BYTES, content.bytes - this.#at)
    // Memory of its own: consumers are handed the lines in it.
    const chunk = content.read(this.#at, wanted)
    if (content.failure !== undefined) {
      this.#directory.passedOver.unreadable(segment, content)
      this.#countUnreadable(found)
      return content.candidate.gzip ? this.#pass(found) : undefined
    }
    if (content.candidate.gzip) this.#inflated = { segment, bytes: content.read(0, content.bytes) }
    this.#take(chunk, found)
    this.#atEnd = chunk.length < wanted || this.#at >= content.bytes
    return chunk.length
  }

  /**
   * Whether the present place is one of this copy too. Its identity says nothing the first time: it is a new file,
   * made of one that a redaction may have rewritten before, or since.
   */
  #goesOnIn(content: FileContent): boolean {
    if (content.failure !== undefined || content.identity === this.#copy) return true
    if (!isPeakBefore(content, this.#position.offset, this.#position.peak)) return false
    this.#copy = content.identity
    // What is held of a line or a transaction that was not complete may have other bytes here.
    this.#goTo(this.#position)
    return true
  }

  /** The segment is missing or unreadable, with all of it that was not read: what comes after it is read, if anything does. */
  #pass(found: Gathering): number | undefined {
    if (this.#directory.after(this.#position.segment) === undefined) return undefined
    found.skipped = true
    return 0
  }

  #countUnreadable(found: Gathering): void {
    const { segment } = this.#position
    if (this.#unreadable !== segment) found.count('unreadable')
    this.#unreadable = segment
  }

  #take(chunk: Buffer, found: Gathering): void {
    this.#at += chunk.length
    this.#found = found
    this.#lines.push(chunk)
    const { segment } = this.#position
    this.#position = { segment, offset: this.#lines.resumeAt, peak: this.#lines.peak }
  }

  #linesFrom({ segment, offset, peak }: BytePosition): SegmentReader {
    const listener: SegmentListener = {
      released: line => {
        this.#found.pass(line)
        this.#found.entries.push(new ReadLine(line, segment))
      },
      dropped: lines => {
        for (const line of lines) {
          this.#found.pass(line)
          this.#found.sit(line.record.seq)
          this.#found.count('tx_incomplete')
        }
      },
      repeated: () => this.#found.count('duplicate_line'),
      malformed: () => this.#found.count('malformed'),
      future: seq => {
        this.#found.count('future')
        if (seq !== undefined) this.#found.sit(seq)
      },
    }
    return new SegmentReader(listener, { offset, peak, earlier: () => this.#bytesOf(segment) })
  }

  /** A segment from its start, read again: only a seq that does not ascend asks for it. */
  *#bytesOf(segment: number): Generator<Buffer> {
    const opened = openSegment(this.#directory.path, segment)
    if (!opened.ok) return
    try {
      yield* opened.value.chunks()
    } finally {
      opened.value.close()
    }
  }
}

/** What is known of a batch that some observer of this process read. */
interface Shared {
  /** Identity of the directory. */
  readonly directory: string
  readonly from: BytePosition
  /** Identity of the one live segment that it was read from, and how far. */
  readonly file: string
  readonly readTo: number
  readonly bytesMax: number
  /** The reader keeps it for a while; only that keeps it alive. */
  readonly batch: WeakRef<Batch>
}

/** Observers that follow one writer are a batch or two apart. */
const KEPT = 16

/** By the offset of the place that they begin at, which mostly tells them apart: every look asks, mostly in vain. */
const shared = new Map<number, Shared>()

/**
 * Keeps a batch for the other observers of this process: twenty panels of one editor see the same lines, and reading
 * and parsing them once is enough. Records are frozen, so no observer notices.
 */
function shareBatch(
  batch: Batch,
  { directory, file, readTo, bytesMax }: Omit<Shared, 'batch' | 'from'>,
): void {
  const { from } = batch
  shared.delete(from.offset)
  shared.set(from.offset, { directory, from, file, readTo, bytesMax, batch: new WeakRef(batch) })
  if (shared.size > KEPT) for (const oldest of shared.keys()) return void shared.delete(oldest)
}

/**
 * What another observer read from this place, if the file is still the one that it was read from: bytes of a segment
 * never change, so it is what reading them again would give.
 */
function sharedBatch(
  directory: JournalDirectory,
  from: BytePosition,
  bytesMax: number,
  tip: Tip | undefined,
): Batch | undefined {
  const found = shared.get(from.offset)
  if (
    found === undefined ||
    found.from.segment !== from.segment ||
    found.from.peak !== from.peak ||
    found.bytesMax > bytesMax ||
    found.directory !== directory.identity
  )
    return undefined
  const batch = found.batch.deref()
  if (batch === undefined) return undefined
  const now = directory.segmentNow(from.segment, tip)
  if (now?.identity !== found.file || now.size < found.readTo) return undefined
  const known = directory.known.get(from.segment)
  if (known !== undefined && known !== found.file) return undefined
  directory.known.set(from.segment, found.file)
  // What came since is read by the next call, which nothing else would ask for.
  const isMore = now.size > found.readTo || directory.after(from.segment) !== undefined
  return isMore && !batch.more ? { ...batch, more: true } : batch
}

/** Stops sharing what was read of a directory: bytes that were cut off may have others in their place. */
export function forgetBatches({ identity }: JournalDirectory): void {
  for (const [offset, { directory }] of shared) if (directory === identity) shared.delete(offset)
}

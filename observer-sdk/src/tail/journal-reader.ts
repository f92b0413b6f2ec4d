import { Buffer } from 'node:buffer'
import {
  type AnomalyKind,
  type Head,
  isPeakBefore,
  type ReadRecord,
  type SegmentLine,
  SegmentReader,
} from '@kim/manifest'
import type { FileContent } from '../store/file-content.js'
import { openSegment } from '../store/store-files.js'
import { type BytePosition, isSamePlace } from './byte-position.js'
import type { JournalDirectory } from './directory.js'
import { shareBatch, sharedBatch } from './shared-batches.js'
import type { Batch, Entry, RecordReader } from './source.js'

/** Most bytes read at a time. */
const CHUNK_BYTES = 256 * 1024

/** How much more than was asked for is read to come to the end of a transaction, about as much as a commit holds. */
const RUN_BYTES = 1024 * 1024

/** Read into by one reader at a time, which is done with it before another one begins. */
let window = Buffer.alloc(0)

/** Told the bytes of each record's line, which are valid during the call. */
export type KeepLine = (record: ReadRecord, line: Uint8Array) => void

/** What one call of `read` gathers. */
class Gathering {
  readonly entries: Entry[] = []
  readonly counts = new Map<AnomalyKind, number>()
  readonly idle: { seq: number; before: number }[] = []
  #highest: ReadRecord | undefined
  more = false
  skipped = false
  lost: Batch['lost']

  count(kind: AnomalyKind, times = 1): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + times)
  }

  sit(seq: number): void {
    this.idle.push({ seq, before: this.entries.length })
  }

  pass(record: ReadRecord): void {
    if (record.seq >= (this.#highest?.seq ?? 0)) this.#highest = record
  }

  /** The highest record of all that passed. */
  get passed(): Head | undefined {
    return this.#highest && { seq: this.#highest.seq, writer: this.#highest.writer ?? null }
  }
}

/** Follows segments from a place: each byte is read once, a torn line and an open transaction are waited for. */
export class JournalReader implements RecordReader {
  readonly #directory: JournalDirectory
  readonly #keep: KeepLine | undefined
  #position: BytePosition
  /** Where to read on, if that is elsewhere. */
  #sought: BytePosition | undefined
  /** The next byte to read; before it, behind the last line, stands at most one that is not terminated. */
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

  /** Whether the last look at the segment came to its end. */
  #atEnd = true

  /** The segment that could not be read at the last attempt: an occasion is counted once. */
  #unreadable: number | undefined

  constructor(directory: JournalDirectory, position: BytePosition, keep?: KeepLine) {
    this.#directory = directory
    this.#keep = keep
    this.#position = position
    this.#at = position.offset
    this.#lines = this.#linesFrom(position)
    this.#copy = directory.copies.get(position.segment)
  }

  get position(): BytePosition {
    return this.#sought ?? this.#position
  }

  seek(position: BytePosition): void {
    const from = this.position
    if (isSamePlace(position, from)) return
    this.#inflated = position.segment === this.#inflated?.segment ? this.#inflated : undefined
    if (position.segment !== from.segment) this.#copy = undefined
    this.#sought = position
  }

  /** Who is led from place to place by what another reads goes there once it reads itself. */
  #arrive(): void {
    if (this.#sought !== undefined) this.#goTo(this.#sought)
    this.#sought = undefined
  }

  #goTo(position: BytePosition): void {
    this.#position = position
    this.#at = position.offset
    this.#lines = this.#linesFrom(position)
  }

  read(bytesMax: number): Batch {
    // Lines are kept for whoever asked for them, which only reading them does.
    const isShareable = this.#keep === undefined
    const others = isShareable ? sharedBatch(this.#directory, this.position, bytesMax) : undefined
    if (others !== undefined) {
      this.seek(others.to)
      return others
    }
    this.#arrive()
    const from = this.#position
    this.#source = undefined
    const found = new Gathering()
    for (let left = bytesMax; ; ) {
      // A part of a transaction is nothing that could be shared: every observer would read it for itself. What came
      // before one can be, and whoever waits for it is not kept waiting for one transaction after another.
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
      // Whoever is handed this is told of what is missing before the next one.
      if (isMissing && found.entries.length > 0) {
        found.more = true
        break
      }
    }
    const { entries, counts, idle, passed, more, skipped, lost } = found
    const batch = { from, to: this.#position, entries, counts, idle, passed, more, skipped, lost }
    const source = this.#source as string | undefined
    const isWhole = lost === undefined && !skipped && !counts.has('unreadable')
    if (
      isShareable &&
      isWhole &&
      source !== undefined &&
      batch.to.segment === from.segment &&
      entries.length > 0
    )
      shareBatch(this.#directory, batch, bytesMax, source, this.#at)
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
    const ahead = this.#directory.bytesAhead(segment, this.#at)
    if (ahead !== undefined) {
      this.#source = ahead.identity
      this.#take(ahead.bytes, found)
      this.#atEnd = ahead.isAll
      return ahead.bytes.length
    }
    const opened = this.#directory.openSegment(segment)
    if (!opened.ok) {
      if (opened.reason === 'unreadable') this.#countUnreadable(found)
      return this.#pass(found)
    }
    try {
      return this.#readContent(opened.value, bytesMax, found)
    } finally {
      this.#directory.closeSegment(segment, opened.value)
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
    const chunk = readChunk(content, this.#at, wanted)
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
   * Whether the present place is one of this copy too. Its identity tells nothing the first time: it was written anew,
   * of a file that a redaction may have rewritten before, or since.
   */
  #goesOnIn(content: FileContent): boolean {
    if (content.failure !== undefined || content.identity === this.#copy) return true
    if (!isPeakBefore(content, this.#position.offset, this.#position.peak)) return false
    this.#copy = content.identity
    // What is held of a line or a transaction that was not complete may have other bytes here.
    this.#goTo(this.#position)
    return true
  }

  /** Gone or unreadable, with whatever of it was not read: what comes after it is read, if anything does. */
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
    const listener = {
      released: (line: SegmentLine) => this.#release(line),
      dropped: (lines: readonly SegmentLine[]) => this.#drop(lines),
      repeated: () => this.#found.count('duplicate_line'),
      malformed: () => this.#found.count('malformed'),
      future: (seq: number | undefined) => {
        this.#found.count('future')
        if (seq !== undefined) this.#found.sit(seq)
      },
    }
    return new SegmentReader(listener, { offset, peak, earlier: () => this.#bytesOf(segment) })
  }

  #release(line: SegmentLine): void {
    const { record, defects, offset } = line
    const found = this.#found
    this.#keep?.(record, line.bytes)
    found.pass(record)
    for (const kind of defects) found.count(kind)
    found.entries.push({ record, segment: this.#position.segment, offset })
  }

  #drop(lines: readonly SegmentLine[]): void {
    const found = this.#found
    for (const { record, defects } of lines) {
      for (const kind of defects) found.count(kind)
      found.pass(record)
      found.sit(record.seq)
      found.count('tx_incomplete')
    }
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

/** As `read`, into memory that is used again; a compressed file is in memory anyway. */
function readChunk(content: FileContent, position: number, length: number): Buffer {
  if (content.candidate.gzip) return content.read(position, length)
  if (length > window.length) window = Buffer.allocUnsafeSlow(length)
  return window.subarray(0, content.readInto(window, 0, length, position))
}

/** A range of a journal's lines, as files of a journal of its own. */
import {
  type PayloadRef,
  type PlainLine,
  type ReadRecord,
  type SegmentLine,
  SegmentReader,
  segmentName,
} from '@kim/manifest'
import type { ReadFailure, SegmentEntry } from '@kim/observer-sdk/history'
import type { Mark, SegmentWalker } from '../line-walk.js'
import type { LineContent, Redactor } from '../redactor.js'

/** Where the lines of a slice go. */
export interface SliceTarget {
  /** The lines that follow are of this segment. */
  begin(name: string): void
  line(bytes: Uint8Array | string): void
  /** Something that must be awaited before the next line, if anything must. */
  pause?(): Promise<void> | undefined
}

/** What is cut out. */
export interface SliceRange {
  readonly fromSeq: number
  readonly toSeq: number
}

const HOLES_MAX = 1000

/** Cuts a range out of the lines of a journal; a transaction is taken whole. */
export class BundleSlice implements SegmentWalker {
  readonly blobs: Map<string, PayloadRef> = new Map()
  readonly failures: string[] = []
  /** Numbers inside the range that no record of the journal has. */
  readonly holes: { readonly from: number; readonly to: number }[] = []
  records = 0
  first: ReadRecord | undefined
  last: ReadRecord | undefined
  /** Where the last line begins. */
  end: Mark | undefined
  readonly #range: SliceRange
  readonly #target: SliceTarget
  readonly #redactor: Redactor
  readonly #until: Mark | undefined
  #before = 0
  /** Lines of a run of which no record is in the range so far. */
  #held: { readonly bytes: Uint8Array; readonly record: ReadRecord; readonly offset: number }[] = []
  #isWithin = false
  #hasFile = false

  /** `until` ends it after the line that begins there, whatever stands behind it by now. */
  constructor(range: SliceRange, redactor: Redactor, target: SliceTarget, until?: Mark) {
    this.#range = range
    this.#target = target
    this.#redactor = redactor
    this.#until = until
  }

  beginSegment(segment: SegmentEntry): SegmentReader {
    this.#held = []
    this.#hasFile = false
    const reader: SegmentReader = new SegmentReader({
      valid: line => !this.#isBeyond(segment, line) && this.#record(line, segment),
      blank: line => this.#other(line, { kind: 'blank' }, segment, reader),
      malformed: line => this.#other(line, { kind: 'malformed' }, segment, reader),
      future: (seq, line) => this.#other(line, { kind: 'future', seq }, segment, reader),
    })
    return reader
  }

  #isBeyond({ number }: SegmentEntry, { offset }: { readonly offset: number }): boolean {
    const until = this.#until
    if (until === undefined) return false
    return number > until.segment || (number === until.segment && offset > until.offset)
  }

  /** A line that is no record. */
  #other(line: PlainLine, content: LineContent, segment: SegmentEntry, reader: SegmentReader): void {
    if (this.#isBeyond(segment, line)) {
      reader.stop()
      return
    }
    if (!this.#isWithin) return
    const { offset, length, bytes } = line
    this.end = { segment: segment.number, offset }
    // A line that is too long to be held is reported, not copied.
    const shown =
      bytes === undefined
        ? JSON.stringify({ bytes: length, redacted_line: true })
        : this.#redactor.line(bytes, content)
    this.#put(segment, offset, shown, undefined)
  }

  pause(): Promise<void> | undefined {
    return this.#target.pause?.()
  }

  endSegment(_segment: SegmentEntry, failure: ReadFailure | undefined): void {
    if (failure !== undefined) this.failures.push(`${failure.path}: ${failure.code}`)
  }

  unreadable(_segment: SegmentEntry, { path, code }: ReadFailure): void {
    this.failures.push(`${path}: ${code}`)
  }

  #record({ record, offset, bytes }: SegmentLine, segment: SegmentEntry): boolean {
    const { fromSeq, toSeq } = this.#range
    const isInside = typeof record.tx === 'object' && record.tx.i > 1
    if (!isInside) this.#held = []
    if (!this.#isWithin && record.seq < fromSeq) {
      if (typeof record.tx === 'object') this.#held.push({ bytes: Uint8Array.from(bytes), record, offset })
      return true
    }
    if (record.seq > toSeq && !(this.#isWithin && isInside)) return false
    this.#isWithin = true
    for (const each of this.#held.splice(0)) {
      const line = this.#redactor.line(each.bytes, { kind: 'record', record: each.record })
      this.#put(segment, each.offset, line, each.record)
    }
    this.end = { segment: segment.number, offset }
    this.#put(segment, offset, this.#redactor.line(bytes, { kind: 'record', record }), record)
    return true
  }

  #put(
    segment: SegmentEntry,
    offset: number,
    line: Uint8Array | string,
    record: ReadRecord | undefined,
  ): void {
    if (!this.#hasFile) {
      this.#hasFile = true
      // What does not begin where its segment does has a name of its own, which is the lower bound of its seqs.
      this.#target.begin(segmentName(offset === 0 || record === undefined ? segment.number : record.seq))
    }
    this.#target.line(line)
    if (record === undefined) return
    this.records += 1
    if (this.#before > 0 && record.seq > this.#before + 1 && this.holes.length < HOLES_MAX)
      this.holes.push({ from: this.#before + 1, to: record.seq - 1 })
    this.#before = Math.max(this.#before, record.seq)
    this.first ??= record
    this.last = record
    if (record.payload_ref !== undefined && this.#redactor.mode === 'none')
      this.blobs.set(record.payload_ref.sha256, record.payload_ref)
  }
}

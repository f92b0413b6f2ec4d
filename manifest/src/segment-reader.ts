/** The one reader: turns the bytes of a segment into records that have an effect, and everything that has none. */
import { Buffer, isAscii, isUtf8 } from 'node:buffer'
import { type Effect, effectOf } from './classify.js'
import type { AnomalyKind } from './generated/anomalies.js'
import { bufferOf } from './json.js'
import { limits } from './limits.js'
import { LineFrame } from './line-frame.js'
import { type Decoded, decodeLine, decodeText, type MalformedReason, type ReadRecord } from './record.js'
import { lineMark, RepeatedLines, TxTracker } from './record-fate.js'

const LINE_FEED = 0x0a
const BLANK: Decoded = { kind: 'blank' }

/** Where a terminated line begins in its segment, and how many bytes it has without its `\n`. */
interface LineLocation {
  readonly offset: number
  readonly length: number
}

/** A terminated line that holds a valid record. */
export class SegmentLine implements LineLocation {
  readonly record: ReadRecord
  readonly defects: readonly AnomalyKind[]
  readonly offset: number
  readonly length: number
  readonly #buffer: Buffer
  readonly #from: number
  #mark: number | undefined
  #effect: Effect | undefined

  constructor(
    decoded: Extract<Decoded, { kind: 'record' }>,
    offset: number,
    buffer: Buffer,
    from: number,
    length: number,
  ) {
    this.record = decoded.record
    this.defects = decoded.defects
    this.offset = offset
    this.length = length
    this.#buffer = buffer
    this.#from = from
  }

  /** The line's bytes without its `\n`: a view of the chunk, valid as long as the chunk is. */
  get bytes(): Buffer {
    return this.#buffer.subarray(this.#from, this.#from + this.length)
  }

  /** The bytes as a string of one byte a character. */
  get latin1(): string {
    return this.#buffer.toString('latin1', this.#from, this.#from + this.length)
  }

  /** The mark by which a repeated line is recognised. */
  get mark(): number {
    this.#mark ??= lineMark(this.bytes)
    return this.#mark
  }

  /** What the record does to the state, if it has its effect. */
  get effect(): Effect {
    this.#effect ??= effectOf(this.record)
    return this.#effect
  }

  /** The same line with bytes of its own. A line that waits for its transaction outlives its chunk. */
  kept(): SegmentLine {
    const { record, defects, offset, length } = this
    return new SegmentLine({ kind: 'record', record, defects }, offset, Buffer.from(this.bytes), 0, length)
  }
}

/** A terminated line that is no record of this version. */
export interface PlainLine extends LineLocation {
  /** Absent if the line is too long to be held; otherwise valid as long as the chunk is. */
  readonly bytes: Uint8Array | undefined
}

/** A terminated line that is no record of any version. */
export interface MalformedLine extends PlainLine {
  readonly reason: MalformedReason
}

/** What follows the last `\n`. */
export interface UnterminatedLine {
  readonly offset: number
  readonly length: number
  /** Absent if it is already too long to be held. */
  readonly bytes?: Uint8Array
}

/** What a reader reports, in file order. Each user implements what it needs. */
export interface SegmentListener {
  /** Lazy mode only: a record that has its effect, with its header found and its payload not parsed. */
  framed?(frame: LineFrame, offset: number): void
  /** A valid record, before its effect is decided. False ends the reading in front of this line. */
  valid?(line: SegmentLine): boolean | undefined
  /** A record that has its effect now. */
  released?(line: SegmentLine): void
  /** Consecutive records that never have an effect, because their transaction is not complete. */
  dropped?(lines: readonly SegmentLine[]): void
  /** A record without effect: it repeats an earlier line of its segment byte for byte. */
  repeated?(line: SegmentLine): void
  /** A line of a later version of the format. */
  future?(seq: number | undefined, line: PlainLine): void
  malformed?(line: MalformedLine): void
  /** A line of nothing but white space. */
  blank?(line: PlainLine): void
  /** All complete lines in this memory are reported; it may be used again after this call. */
  windowEnd?(window: Buffer): void
}

const NO_BYTES = Buffer.alloc(0)

/** How a segment is read. */
export interface ReadingMode {
  /** Where the first chunk begins in the file; a line must begin there. 0 by default. */
  readonly offset?: number
  /** The highest seq of the lines before that place. */
  readonly peak?: number
  /**
   * Finds the header of most lines without parsing them. A lazy reader gives up (`isUnordered`) when seqs do not
   * ascend: a line may then repeat an earlier one, which only a strict reader knows.
   */
  readonly isLazy?: boolean
  /**
   * The bytes of the file from its start, read again to compare a line with the earlier ones. Without it the
   * reader remembers a mark of every line.
   */
  readonly earlier?: () => Iterable<Buffer>
}

/**
 * Reads one segment as its bytes come. `use` a chunk, then call `next` until it returns false; `push` does both.
 * A strict reader parses every line, a lazy one only those that are not in a known frame.
 */
export class SegmentReader {
  readonly #listener: SegmentListener
  readonly #runs = new TxTracker<SegmentLine>()
  readonly #earlier: ReadingMode['earlier']
  readonly #frame: LineFrame | undefined
  #repeats: RepeatedLines | undefined
  #peak: number
  /** Offset after the last terminated line. */
  #end: number
  /** The complete lines that are being read, and what is known of them. */
  #window: Buffer = NO_BYTES
  #windowEnd = 0
  #at = 0
  #isText = false
  /** All lines of the window, where each character is one byte. */
  #ascii: string | undefined
  #textFrom = 0
  /** What follows the window in the chunk, and the start of a line that earlier chunks did not complete. */
  #rest: Buffer = NO_BYTES
  #begun: Buffer[] = []
  #begunBytes = 0
  #isUnordered = false
  #isStopped = false

  constructor(listener: SegmentListener, mode: ReadingMode = {}) {
    this.#listener = listener
    this.#end = mode.offset ?? 0
    this.#peak = mode.peak ?? 0
    this.#earlier = mode.earlier
    this.#frame = mode.isLazy === true ? new LineFrame() : undefined
    if (this.#frame === undefined && mode.earlier === undefined) this.#repeats = new RepeatedLines()
  }

  /** Offset after the last terminated line that was read. */
  get end(): number {
    return this.#end
  }

  /** The highest seq of the lines so far whose fate is decided. */
  get peak(): number {
    return this.#peak
  }

  /** Where another reader can go on: at the first line of an open transaction, else after the last line. */
  get resumeAt(): number {
    return this.#runs.pending[0]?.offset ?? this.#end
  }

  /** The records that wait for the rest of their transaction. */
  get open(): readonly SegmentLine[] {
    return this.#runs.pending
  }

  /** What follows the last `\n`, once the chunk is read. */
  get unterminated(): UnterminatedLine {
    const location = { offset: this.#end, length: this.#begunBytes }
    return this.#begunBytes > limits.lineReadBytesMax
      ? location
      : { ...location, bytes: Buffer.concat(this.#begun) }
  }

  /** What the unterminated line would be if it ended here. */
  get fragment(): Decoded['kind'] | 'none' {
    const { offset, length, bytes } = this.unterminated
    if (length === 0) return 'none'
    return bytes === undefined ? 'malformed' : decodeLine(bytes, offset === 0).kind
  }

  /** True once a lazy reader reached a seq that does not ascend. Its reports are void: read strictly instead. */
  get isUnordered(): boolean {
    return this.#isUnordered
  }

  /** True once the listener ended the reading. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Ends the reading after the present line. */
  stop(): void {
    this.#isStopped = true
  }

  /** Lets a reading that the listener ended go on: give it the bytes from `end` on. */
  resume(): void {
    this.#isStopped = false
    this.#open(NO_BYTES, 0, 0)
    this.#rest = NO_BYTES
    this.#begun = []
    this.#begunBytes = 0
  }

  /** Takes the next bytes of the file and reads their lines; false if reading ended before their end. */
  push(chunk: Uint8Array): boolean {
    this.use(chunk)
    while (this.next());
    return !this.#isStopped && !this.#isUnordered
  }

  /** Takes the next bytes of the file. They must not change until `next` has returned false. */
  use(chunk: Uint8Array): void {
    const bytes = bufferOf(chunk)
    if (this.#begunBytes === 0) {
      this.#split(bytes, 0)
      return
    }
    const feed = bytes.indexOf(LINE_FEED)
    if (feed === -1) {
      this.#open(NO_BYTES, 0, 0)
      this.#rest = bytes
      return
    }
    this.#begunBytes += feed
    if (this.#begunBytes > limits.lineReadBytesMax) {
      this.#skipTooLong()
      this.#split(bytes, feed + 1)
      return
    }
    const line = Buffer.concat([...this.#begun, bytes.subarray(0, feed + 1)])
    this.#begun = []
    this.#begunBytes = 0
    this.#open(line, 0, line.length)
    this.#rest = bytes.subarray(feed + 1)
  }

  /** Reads one more line; false if no complete line is left in the chunk or the reading ended. */
  next(): boolean {
    if (this.#isStopped || this.#isUnordered) return false
    if (this.#at === this.#windowEnd && !this.#nextWindow()) return false
    const from = this.#at
    const feed = this.#window.indexOf(LINE_FEED, from)
    if (!this.#read(from, feed)) return false
    this.#at = feed + 1
    this.#end += feed + 1 - from
    if (this.#at === this.#windowEnd) this.#listener.windowEnd?.(this.#window)
    return true
  }

  /** The segment has a successor or will never grow: a transaction that is still open has no effect. */
  finish(): void {
    this.#drop(this.#runs.interrupt())
  }

  /** Divides a chunk into the complete lines and the start of the next one. */
  #split(bytes: Buffer, from: number): void {
    const end = bytes.lastIndexOf(LINE_FEED) + 1
    if (end <= from) {
      this.#open(bytes, from, from)
      this.#rest = bytes.subarray(from)
      return
    }
    this.#open(bytes, from, end)
    this.#rest = end === bytes.length ? NO_BYTES : bytes.subarray(end)
  }

  #open(window: Buffer, from: number, end: number): void {
    this.#window = window
    this.#at = from
    this.#windowEnd = end
    this.#textFrom = from
    this.#ascii = undefined
    const lines = from === 0 && end === window.length ? window : window.subarray(from, end)
    // A line of more than the limit is looked at by itself.
    if (this.#frame !== undefined) this.#isText = isUtf8(lines)
    else if (lines.length > limits.lineReadBytesMax) this.#isText = false
    else if (isAscii(lines)) {
      this.#isText = true
      this.#ascii = lines.toString('latin1')
    } else this.#isText = isUtf8(lines)
  }

  /** Goes on with what follows the window; false if that is no complete line. */
  #nextWindow(): boolean {
    const rest = this.#rest
    this.#rest = NO_BYTES
    if (rest.length === 0) return false
    if (this.#begunBytes === 0 && rest.includes(LINE_FEED)) {
      this.#split(rest, 0)
      return true
    }
    this.#begunBytes += rest.length
    if (this.#begunBytes > limits.lineReadBytesMax) this.#begun = []
    else this.#begun.push(Buffer.from(rest))
    return false
  }

  #skipTooLong(): void {
    const line = { offset: this.#end, length: this.#begunBytes }
    this.#end += this.#begunBytes + 1
    this.#begun = []
    this.#begunBytes = 0
    this.#malformed({ ...line, reason: 'too_long', bytes: undefined })
  }

  /** Reads the line that ends before `feed`; false if it is not taken. */
  #read(from: number, feed: number): boolean {
    const window = this.#window
    const frame = this.#frame
    if (frame !== undefined && this.#isText && frame.match(window, from, feed)) {
      this.#drop(this.#runs.interrupt())
      if (frame.seq <= this.#peak) {
        this.#isUnordered = true
        return false
      }
      this.#peak = frame.seq
      this.#listener.framed?.(frame, this.#end)
      return true
    }
    const decoded = feed === from ? BLANK : this.#decode(from, feed)
    const offset = this.#end
    const length = feed - from
    switch (decoded.kind) {
      case 'blank':
        this.#listener.blank?.({ offset, length, bytes: window.subarray(from, feed) })
        return true
      case 'record':
        return this.#record(new SegmentLine(decoded, offset, window, from, length))
      case 'future':
        this.#drop(this.#runs.interrupt())
        this.#listener.future?.(decoded.seq, { offset, length, bytes: window.subarray(from, feed) })
        return true
      case 'malformed': {
        const isHeld = length <= limits.lineReadBytesMax
        const bytes = isHeld ? window.subarray(from, feed) : undefined
        this.#malformed({ offset, length, reason: decoded.reason, bytes })
        return true
      }
    }
  }

  #decode(from: number, feed: number): Decoded {
    const atFileStart = this.#end === 0
    if (!this.#isText || atFileStart) return decodeLine(this.#window.subarray(from, feed), atFileStart)
    if (feed - from > limits.lineReadBytesMax) return { kind: 'malformed', reason: 'too_long' }
    if (this.#ascii === undefined) return decodeText(this.#window.toString('utf8', from, feed))
    return decodeText(this.#ascii.slice(from - this.#textFrom, feed - this.#textFrom))
  }

  #record(line: SegmentLine): boolean {
    if (this.#listener.valid?.(line) === false) {
      this.#isStopped = true
      return false
    }
    const { record } = line
    if (record.tx === undefined && this.#runs.pending.length === 0) {
      // The common line costs no array.
      if (this.#repeats === undefined && record.seq > this.#peak) {
        this.#peak = record.seq
        this.#listener.released?.(line)
        return true
      }
      return this.#release([line])
    }
    const { dropped, released } = this.#runs.record(record, record.tx === undefined ? line : line.kept())
    this.#drop(dropped)
    return this.#release(released)
  }

  #release(lines: readonly SegmentLine[]): boolean {
    const first = lines[0]
    if (first === undefined) return true
    if (this.#repeats === undefined && !ascends(lines, this.#peak)) {
      if (this.#frame !== undefined) {
        this.#isUnordered = true
        return false
      }
      this.#repeats = this.#recall(first.offset)
    }
    for (const line of lines) {
      const { seq } = line.record
      if (seq > this.#peak) this.#peak = seq
      if (this.#repeats?.isRepeated(seq, line.mark) === true) this.#listener.repeated?.(line)
      else this.#listener.released?.(line)
    }
    return true
  }

  /** The marks of the lines before `until` that had an effect. */
  #recall(until: number): RepeatedLines {
    const repeats = new RepeatedLines()
    const listener: SegmentListener = {
      valid: line => line.offset < until,
      released: line => void repeats.isRepeated(line.record.seq, line.mark),
    }
    const reader = new SegmentReader(listener)
    for (const chunk of this.#earlier?.() ?? []) if (!reader.push(chunk)) break
    return repeats
  }

  #malformed(line: MalformedLine): void {
    this.#drop(this.#runs.interrupt())
    this.#listener.malformed?.(line)
  }

  #drop(lines: readonly SegmentLine[]): void {
    if (lines.length === 0) return
    for (const { record } of lines) if (record.seq > this.#peak) this.#peak = record.seq
    this.#listener.dropped?.(lines)
  }
}

/** A listener that can forget what was reported to it. */
export interface RestartListener extends SegmentListener {
  /** Everything reported of this segment is void: it is reported once more, every line parsed. */
  restart?(): void
}

/**
 * Reads a whole segment, lazily if `isLazy`: where its seqs do not ascend, once more and strictly. `chunks` returns the
 * bytes from the start of the file each time it is called.
 */
export function readSegment(
  chunks: () => Iterable<Uint8Array>,
  listener: RestartListener,
  { isLazy = false }: { readonly isLazy?: boolean } = {},
): SegmentReader {
  const reader = new SegmentReader(listener, { isLazy })
  for (const chunk of chunks()) if (!reader.push(chunk)) break
  if (!reader.isUnordered) return reader
  listener.restart?.()
  return readSegment(chunks, listener)
}

/** The record in the bytes of one line, or undefined if the line holds none. */
export function recordOf(line: Uint8Array, atFileStart = false): ReadRecord | undefined {
  const decoded = decodeLine(line, atFileStart)
  return decoded.kind === 'record' ? decoded.record : undefined
}

function ascends(lines: readonly SegmentLine[], after: number): boolean {
  let last = after
  for (const { record } of lines) {
    if (record.seq <= last) return false
    last = record.seq
  }
  return true
}

/**
 * One pass over one segment, front to back, in windows of one reused buffer. Lines in our writer's frame are
 * told as they stand, everything else decoded; so most lines cost neither a string nor an object.
 */
import { Buffer, isUtf8 } from 'node:buffer'
import { decodeLine, limits } from '@kim/manifest'
import type { FileContent } from '../store/file-content.js'
import { FrameMatcher } from './frame.js'
import { type JudgedLine, LineJudge, type Verdict } from './line-judge.js'

/** What a scan tells, in file order. */
export interface ScanVisitor {
  /** A line in the exact frame, its payload unread: `window[from, to)`, which stands at `offset`. */
  framed(window: Buffer, from: number, to: number, offset: number, frame: FrameMatcher): void
  /** A record that has its effect. */
  released(line: JudgedLine): void
  /** A record that has none, because its transaction is not complete. */
  dropped(line: JudgedLine): void
  /** A line that repeats an earlier one of the segment. */
  repeated(lines: number): void
  /** A line that is no record. */
  odd(kind: 'malformed' | 'future', seq: number | undefined): void
  /** The lines of this window are all told; true keeps its memory, and the next window gets another. */
  window(window: Buffer): boolean
  /** Everything told of this segment is void: it is told once more, every line decoded. */
  restart(): void
}

/** Where a segment's told lines end. */
export interface ScanEnd {
  /** Offset after the last terminated line. */
  readonly offset: number
  /** Records that wait for the rest of their transaction. */
  readonly pending: readonly JudgedLine[]
  /** The highest seq of its lines. */
  readonly peak: number
}

const LINE_FEED = 0x0a
const WINDOW_MIN = 64 * 1024
/** Holds any line that may be one, and its line feed. */
const WINDOW_MAX = limits.lineReadBytesMax + 1024 * 1024

/** Scans segments one after another with one buffer. */
export class SegmentScanner {
  readonly #frame = new FrameMatcher()
  #buffer = Buffer.alloc(0)

  /** Tells the visitor the content's terminated lines before `until`. */
  scan(content: FileContent, visitor: ScanVisitor, until: number = content.bytes): ScanEnd {
    const end = this.#pass(content, new LinePass(visitor, this.#frame), until)
    if (end !== undefined) return end
    // Seqs that do not ascend: a line may repeat an earlier one, so no line is taken without the others.
    visitor.restart()
    return this.scanWhole(content, visitor, until)
  }

  /** As `scan`, with every line decoded. */
  scanWhole(content: FileContent, visitor: ScanVisitor, until: number = content.bytes): ScanEnd {
    return this.#pass(content, new LinePass(visitor), until) as ScanEnd
  }

  /** Undefined if the pass met a line that could repeat one it did not keep in mind. */
  #pass(content: FileContent, lines: LinePass, until: number): ScanEnd | undefined {
    let start = 0
    let held = 0
    let tooLongFrom: number | undefined
    while (start + held < until) {
      const window = this.#reserve(held, until - start)
      const wanted = Math.min(window.length - held, until - start - held)
      const read = content.readInto(window, held, wanted, start + held)
      if (read === 0) break
      const filled = held + read
      const end = window.lastIndexOf(LINE_FEED, filled - 1) + 1
      if (end === 0) {
        held = filled
        if (filled < WINDOW_MAX) continue
        tooLongFrom ??= start
        start += filled
        held = 0
        continue
      }
      let from = 0
      if (tooLongFrom !== undefined) {
        from = window.indexOf(LINE_FEED) + 1
        tooLongFrom = undefined
        lines.tooLong()
      }
      if (!lines.tell(window, from, end, start)) return undefined
      held = filled - end
      start += end
      if (lines.keeps(window)) {
        this.#buffer = Buffer.alloc(0)
        if (held > 0) window.copy(this.#reserve(0, until - start), 0, end, filled)
      } else if (held > 0) window.copyWithin(0, end, filled)
    }
    return { offset: tooLongFrom ?? start, pending: lines.judge.pending, peak: lines.judge.peak }
  }

  #reserve(held: number, left: number): Buffer {
    const wanted = Math.min(Math.max(left, WINDOW_MIN), WINDOW_MAX)
    if (this.#buffer.length < wanted) {
      const larger = Buffer.allocUnsafeSlow(wanted)
      this.#buffer.copy(larger, 0, 0, held)
      this.#buffer = larger
    }
    return this.#buffer
  }
}

/** The lines of one pass; without a matcher every line is decoded and kept in mind. */
class LinePass {
  readonly judge: LineJudge
  readonly #visitor: ScanVisitor
  readonly #frame: FrameMatcher | undefined
  #unordered = false

  constructor(visitor: ScanVisitor, frame?: FrameMatcher) {
    this.#visitor = visitor
    this.#frame = frame
    this.judge = new LineJudge(0, () => {
      this.#unordered = true
      return []
    })
    if (frame === undefined) this.judge.remember([])
  }

  tell(window: Buffer, from: number, end: number, start: number): boolean {
    const { judge } = this
    const frame = isUtf8(window.subarray(from, end)) ? this.#frame : undefined
    for (let at = from; at < end; ) {
      const lineEnd = window.indexOf(LINE_FEED, at)
      if (frame?.match(window, at, lineEnd)) {
        if (judge.isOpen) this.#report(judge.interrupt())
        if (!judge.passes(frame.seq)) return false
        this.#visitor.framed(window, at, lineEnd, start + at, frame)
      } else if (!this.#decode(window.subarray(at, lineEnd), start + at)) return false
      at = lineEnd + 1
    }
    return true
  }

  tooLong(): void {
    this.#report(this.judge.interrupt())
    this.#visitor.odd('malformed', undefined)
  }

  keeps(window: Buffer): boolean {
    return this.#visitor.window(window)
  }

  #decode(bytes: Buffer, offset: number): boolean {
    const decoded = decodeLine(bytes, offset === 0)
    if (decoded.kind === 'blank') return true
    this.#report(this.judge.judge(decoded, offset, bytes))
    if (this.#unordered) return false
    if (decoded.kind === 'malformed') this.#visitor.odd('malformed', undefined)
    if (decoded.kind === 'future') this.#visitor.odd('future', decoded.seq)
    return true
  }

  #report({ released, dropped, repeated }: Verdict): void {
    for (const line of dropped) this.#visitor.dropped(line)
    for (const line of released) this.#visitor.released(line)
    if (repeated > 0) this.#visitor.repeated(repeated)
  }
}

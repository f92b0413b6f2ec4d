/**
 * One pass over one segment, from its start, in windows of one reused buffer. Most lines are reported by their headers
 * alone, so they cost neither a string nor an object.
 */
import { Buffer } from 'node:buffer'
import { limits, type SegmentLine, type SegmentListener, SegmentReader } from '@kim/manifest'
import type { FileContent } from '../store/file-content.js'

/** Who listens to a scan. */
export interface ScanListener extends SegmentListener {
  /** Everything reported of this segment is void: it is reported once more, every line parsed. */
  restart?(): void
}

/** Where a segment's complete lines end. */
export interface ScanEnd {
  /** Where another reader goes on: the first line of an open transaction, else the end of the last line. */
  readonly resumeAt: number
  /** Records that wait for the rest of their transaction. */
  readonly open: readonly SegmentLine[]
  /** The highest seq of its lines. */
  readonly peak: number
}

const WINDOW_MIN = 64 * 1024
/** Holds any line that may be one, and its line feed. */
const WINDOW_MAX = limits.lineReadBytesMax + 1024 * 1024

/** Scans segments one after another with one buffer. */
export class SegmentScanner {
  #buffer = Buffer.alloc(0)

  /** Reports the content's terminated lines before `until`. */
  scan(content: FileContent, listener: ScanListener, until: number = content.bytes): ScanEnd {
    const reader = this.#pass(content, new SegmentReader(listener, { isLazy: true }), until)
    if (!reader.isUnordered) return reader
    listener.restart?.()
    return this.scanWhole(content, listener, until)
  }

  /** As `scan`, with every line parsed. */
  scanWhole(content: FileContent, listener: ScanListener, until: number = content.bytes): ScanEnd {
    return this.#pass(content, new SegmentReader(listener), until)
  }

  #pass(content: FileContent, reader: SegmentReader, until: number): SegmentReader {
    for (let at = 0; at < until; ) {
      const window = this.#reserve(until - at)
      const read = content.readInto(window, 0, Math.min(window.length, until - at), at)
      if (read === 0) break
      const isGoing = reader.push(window.subarray(0, read))
      if (reader.isChunkKept) this.#buffer = Buffer.alloc(0)
      if (!isGoing) break
      at += read
    }
    return reader
  }

  #reserve(left: number): Buffer {
    const wanted = Math.min(Math.max(left, WINDOW_MIN), WINDOW_MAX)
    if (this.#buffer.length < wanted) this.#buffer = Buffer.allocUnsafeSlow(wanted)
    return this.#buffer
  }
}

/** One pass over one segment, from its start, in windows of one reused buffer. */
import { Buffer } from 'node:buffer'
import { limits, type RestartListener, type SegmentListener, SegmentReader } from '@kim/manifest'
import type { FileContent } from '../store/file-content.js'

const WINDOW_MIN = 64 * 1024
/** Holds any line that may be one, and its line feed. */
const WINDOW_MAX = limits.lineReadBytesMax + 1024 * 1024

/** Scans segments one after another with one buffer. */
export class SegmentScanner {
  #buffer = Buffer.alloc(0)
  #inBuffer: Buffer = this.#buffer

  /** The bytes that the last scan began with, until the next one. */
  get inMemory(): Buffer {
    return this.#inBuffer
  }

  /** Reports the content's terminated lines before `until`, most of them unparsed. */
  scan(content: FileContent, listener: RestartListener, until: number = content.bytes): SegmentReader {
    const reader = this.scanLazily(content, listener, until)
    if (!reader.isUnordered) return reader
    listener.restart?.()
    return this.scanWhole(content, listener, until)
  }

  /** As `scan`, but where seqs do not ascend it stops: ask the reader whether it is unordered. */
  scanLazily(content: FileContent, listener: SegmentListener, until: number = content.bytes): SegmentReader {
    return this.#pass(content, new SegmentReader(listener, { isLazy: true }), until)
  }

  /** As `scan`, with every line parsed. */
  scanWhole(content: FileContent, listener: SegmentListener, until: number = content.bytes): SegmentReader {
    return this.#pass(content, new SegmentReader(listener), until)
  }

  #pass(content: FileContent, reader: SegmentReader, until: number): SegmentReader {
    for (let at = 0; at < until; ) {
      const window = this.#reserve(until - at)
      const read = content.readInto(window, 0, Math.min(window.length, until - at), at)
      if (read === 0) break
      this.#inBuffer = at === 0 ? window.subarray(0, read) : Buffer.alloc(0)
      if (!reader.push(window.subarray(0, read))) break
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

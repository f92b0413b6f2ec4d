import { Buffer, isAscii, isUtf8 } from 'node:buffer'
import { type Decoded, decodeLine, decodeText, type FramedLine, LineFramer, limits } from '@kim/manifest'

const LINE_FEED = 0x0a

const EMPTY: Uint8Array = new Uint8Array(0)

/** The whole lines of a chunk that are known to be text. */
interface Text {
  /** Where they begin in the chunk. */
  readonly from: number
  /** All of them, where each character is one byte. */
  readonly ascii: string | undefined
}

/**
 * Decodes the lines of one file as its bytes come: one decoder, reused for every line, whose fields describe the last
 * one. Lines that came together are made text together: cut into bytes first, decoding each would take a quarter longer.
 */
export class LineDecoder {
  decoded: Decoded = { kind: 'blank' }
  /** Offset of the line in its file. */
  offset: number
  /** Offset of the byte after it and its `\n`. */
  end: number
  #chunk: Buffer = Buffer.alloc(0)
  /** The next byte of the chunk. */
  #at = 0
  /** Absent if the lines of the chunk are no text throughout. */
  #text: Text | undefined
  /** The beginning of a line that the chunks so far did not complete. */
  #begun: LineFramer | undefined
  /** A line's bytes that stand in no chunk. */
  #joined: Uint8Array | undefined

  /** `offset` is where in the file the first chunk begins; a line must begin there. */
  constructor(offset: number) {
    this.offset = offset
    this.end = offset
  }

  /** The bytes that come next. They must stay what they are until `next` has returned false. */
  use(chunk: Buffer): void {
    this.#chunk = chunk
    this.#at = 0
    this.#text = undefined
    if (this.#begun === undefined) this.#text = textOf(chunk, 0)
  }

  /** Decodes one more line; false if none is complete. */
  next(): boolean {
    if (this.#at === this.#chunk.length) return false
    const feed = this.#chunk.indexOf(LINE_FEED, this.#at)
    if (this.#begun !== undefined) return this.#complete(this.#begun, feed)
    if (feed === -1) {
      this.#begun = new LineFramer(this.end)
      this.#begun.push(this.#rest(this.#chunk.length))
      return false
    }
    const from = this.#at
    this.#at = feed + 1
    this.offset = this.end
    this.end += this.#at - from
    this.#joined = undefined
    this.decoded = this.#decode(from, feed)
    return true
  }

  /** The line's bytes; a view that is valid as long as its chunk, and none of a line that is too long to be held. */
  get bytes(): Uint8Array {
    if (this.#joined !== undefined) return this.#joined
    return this.#chunk.subarray(this.#at - (this.end - this.offset), this.#at - 1)
  }

  #decode(from: number, to: number): Decoded {
    const text = this.#text
    if (text?.ascii !== undefined) return decodeText(text.ascii.slice(from - text.from, to - text.from))
    // In front of the first line of a file a byte order mark may stand.
    if (text === undefined || this.offset === 0)
      return decodeLine(this.#chunk.subarray(from, to), this.offset === 0)
    return decodeText(this.#chunk.toString('utf8', from, to))
  }

  #complete(begun: LineFramer, feed: number): boolean {
    const [line] = begun.push(this.#rest(feed === -1 ? this.#chunk.length : feed + 1))
    if (line === undefined) return false
    this.#begun = undefined
    this.#text = textOf(this.#chunk, this.#at)
    this.#take(line)
    return true
  }

  #take(line: FramedLine): void {
    const isHeld = line.kind === 'line'
    this.#joined = isHeld ? line.bytes : EMPTY
    this.decoded = isHeld
      ? decodeLine(line.bytes, line.atFileStart)
      : { kind: 'malformed', reason: 'too_long' }
    this.offset = line.offset
    this.end = line.offset + (isHeld ? line.bytes.length : line.length) + 1
  }

  #rest(to: number): Uint8Array {
    const from = this.#at
    this.#at = to
    return this.#chunk.subarray(from, to)
  }
}

function textOf(chunk: Buffer, from: number): Text | undefined {
  const lines = chunk.subarray(from, chunk.lastIndexOf(LINE_FEED) + 1)
  if (lines.length > limits.lineReadBytesMax) return undefined
  if (isAscii(lines)) return { from, ascii: lines.toString('latin1') }
  return isUtf8(lines) ? { from, ascii: undefined } : undefined
}

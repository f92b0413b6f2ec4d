import { Buffer } from 'node:buffer'
import { limits } from './limits.js'

/** One terminated line, or one too long to be held. */
export type FramedLine =
  | {
      readonly kind: 'line'
      readonly bytes: Uint8Array
      readonly offset: number
      readonly atFileStart: boolean
    }
  | { readonly kind: 'too_long'; readonly offset: number; readonly length: number }

/** What stands after the last `\n`; `bytes` is absent if it is already too long to be held. */
export interface PendingBytes {
  readonly offset: number
  readonly length: number
  readonly bytes?: Uint8Array
}

/**
 * Cuts the bytes of one file, as they come, into lines at 0x0A.
 * A line's bytes may be a view of the chunk they came in: use them before that chunk is used again.
 */
export class LineFramer {
  #lineStart: number
  #held: Uint8Array[] = []
  #length = 0

  /** `offset` is where in the file the first chunk begins; a line must begin there. */
  constructor(offset = 0) {
    this.#lineStart = offset
  }

  /** The lines that this chunk completes. */
  push(chunk: Uint8Array): FramedLine[] {
    const lines: FramedLine[] = []
    let from = 0
    for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, from)) {
      lines.push(this.#complete(chunk.subarray(from, at)))
      from = at + 1
    }
    if (from < chunk.length) this.#hold(chunk.subarray(from))
    return lines
  }

  /** The unterminated rest. */
  get pending(): PendingBytes {
    const place = { offset: this.#lineStart, length: this.#length }
    return this.#length > limits.lineReadBytesMax ? place : { ...place, bytes: Buffer.concat(this.#held) }
  }

  #complete(tail: Uint8Array): FramedLine {
    const offset = this.#lineStart
    const length = this.#length + tail.length
    const held = this.#held
    this.#lineStart += length + 1
    this.#held = []
    this.#length = 0
    if (length > limits.lineReadBytesMax) return { kind: 'too_long', offset, length }
    const bytes = held.length === 0 ? tail : Buffer.concat([...held, tail])
    return { kind: 'line', bytes, offset, atFileStart: offset === 0 }
  }

  #hold(rest: Uint8Array): void {
    this.#length += rest.length
    if (this.#length > limits.lineReadBytesMax) this.#held = []
    else this.#held.push(Uint8Array.from(rest))
  }
}

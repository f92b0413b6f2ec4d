const FIRST_BYTES = 65_536

/**
 * The bytes of one body. They are copied out of the chunks: a body sent in single bytes would otherwise hold an object
 * and a slice of the network buffer for each of them.
 */
export class BodyBuffer {
  readonly #max: number
  #bytes: Buffer = Buffer.alloc(0)
  #length = 0

  constructor(max: number) {
    this.#max = max
  }

  /** What it takes of the memory. */
  get room(): number {
    return this.#bytes.length
  }

  /** False once there is more than is taken. */
  push(chunk: Uint8Array): boolean {
    const length = this.#length + chunk.length
    if (length > this.#max) return false
    if (length > this.#bytes.length) {
      const room = Math.min(this.#max, Math.max(length, this.#bytes.length * 2, FIRST_BYTES))
      const grown = Buffer.allocUnsafe(room)
      this.#bytes.copy(grown, 0, 0, this.#length)
      this.#bytes = grown
    }
    this.#bytes.set(chunk, this.#length)
    this.#length = length
    return true
  }

  /** All of it; the bytes are those of this buffer. */
  whole(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }
}

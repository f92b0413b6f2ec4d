const NEWLINE = 0x0a

/** Cuts a stream into lines, and holds no more of an unfinished one than a line may have. */
export class LineSplitter {
  readonly #max: number
  #parts: Buffer[] = []
  #held = 0
  #isTooLong = false

  constructor(max: number) {
    this.#max = max
  }

  /** True once a line was longer than it may be; nothing is taken after it. */
  get isTooLong(): boolean {
    return this.#isTooLong
  }

  /** The lines that a chunk completes, without their `\n`. */
  push(chunk: Buffer): Buffer[] {
    const lines: Buffer[] = []
    let from = 0
    while (!this.#isTooLong) {
      const end = chunk.indexOf(NEWLINE, from)
      const part = chunk.subarray(from, end === -1 ? chunk.length : end)
      if (this.#held + part.length > this.#max) this.#isTooLong = true
      else if (end === -1) this.#hold(part)
      else lines.push(this.#complete(part))
      if (end === -1) break
      from = end + 1
    }
    return lines
  }

  #hold(part: Buffer): void {
    if (part.length === 0) return
    this.#parts.push(Buffer.from(part))
    this.#held += part.length
  }

  #complete(part: Buffer): Buffer {
    const line = this.#parts.length === 0 ? part : Buffer.concat([...this.#parts, part])
    this.#parts = []
    this.#held = 0
    return line
  }
}

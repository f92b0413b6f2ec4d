/** A stream that lines go to. */
export type LineStream = Pick<NodeJS.WritableStream, 'write'>

/** Bytes that are gathered before they are handed to the stream, within one turn. */
const GATHER_BYTES = 64 * 1024

/**
 * Lines on their way out. What was read in one turn goes out in one write, and nothing waits for more to come: a
 * filter behind the pipe sees a line as soon as there is one.
 */
export class LineOutput {
  readonly #sink: LineStream
  #parts: Uint8Array[] = []
  #bytes = 0
  #written: Promise<void> = Promise.resolve()

  constructor(sink: LineStream) {
    this.#sink = sink
  }

  /** Takes one line, without its `\n`. */
  line(line: string | Uint8Array): void {
    const bytes = typeof line === 'string' ? Buffer.from(line) : line
    this.#parts.push(bytes, NEWLINE)
    this.#bytes += bytes.length + 1
  }

  /** True when enough is gathered that it should go out before more is read. */
  get isFull(): boolean {
    return this.#bytes >= GATHER_BYTES
  }

  /** Resolves when the stream has taken everything. A stream that was closed never answers; the process then ends. */
  flush(): Promise<void> {
    if (this.#bytes === 0) return this.#written
    const chunk = Buffer.concat(this.#parts)
    this.#parts = []
    this.#bytes = 0
    this.#written = new Promise(resolve => {
      this.#sink.write(chunk, error => {
        if (!error) resolve()
      })
    })
    return this.#written
  }
}

const NEWLINE = Buffer.from('\n')

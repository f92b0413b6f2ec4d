import { safeJson, safeText } from '@kim/manifest'
import type { Io } from './flag-table.js'

/** Prints a report: one JSON object, or lines for a person. Text from outside cannot add lines. */
export function printReport(io: Io, asJson: boolean, facts: unknown, lines: readonly string[]): void {
  const shown = asJson ? [safeJson(JSON.stringify(facts))] : lines.map(line => safeText(line))
  io.stdout.write(shown.map(line => `${line}\n`).join(''))
}

/** Prints JSON in pieces as they are made, and waits if the stream is full. */
export async function writePieces(io: Io, pieces: Iterable<string>): Promise<void> {
  const output = new LineOutput(io.stdout)
  for (const piece of pieces) {
    output.add(Buffer.from(safeJson(piece)))
    if (output.isFull) await output.flush()
  }
  await output.flush()
}

/** Bytes to gather before they are written, within one turn of the event loop. */
const GATHER_BYTES = 64 * 1024

const NEWLINE = Buffer.from('\n')

/**
 * Gathers the lines of one turn of the event loop for one write. Nothing waits for later lines, so a filter behind the
 * pipe sees a line as soon as there is one.
 */
export class LineOutput {
  readonly #stream: Pick<NodeJS.WritableStream, 'write'>
  #parts: Uint8Array[] = []
  #bytes = 0
  #written: Promise<void> = Promise.resolve()

  constructor(stream: Pick<NodeJS.WritableStream, 'write'>) {
    this.#stream = stream
  }

  /** Takes one line, without its `\n`. */
  line(line: string | Uint8Array): void {
    this.add(typeof line === 'string' ? Buffer.from(line) : line)
    this.add(NEWLINE)
  }

  /** Takes a part of a line. */
  add(bytes: Uint8Array): void {
    this.#parts.push(bytes)
    this.#bytes += bytes.length
  }

  /** Whether to write before more is read. */
  get isFull(): boolean {
    return this.#bytes >= GATHER_BYTES
  }

  /** Resolves when the stream has taken everything. It never does for a closed stream, but then the process ends. */
  flush(): Promise<void> {
    if (this.#bytes === 0) return this.#written
    const chunk = Buffer.concat(this.#parts)
    this.#parts = []
    this.#bytes = 0
    this.#written = new Promise(resolve => {
      this.#stream.write(chunk, error => {
        if (!error) resolve()
      })
    })
    return this.#written
  }
}

import { type Io, safeJson } from '@kim/cli-kit'

/** Writes pieces of JSON as they come, waiting where the stream has enough. No text in it can play tricks on a terminal. */
export async function writePieces(io: Io, pieces: Iterable<string>): Promise<void> {
  const output = new PieceOutput(io)
  for (const piece of pieces) await output.add(safeJson(piece))
  await output.end()
}

const GATHER_CHARS = 64 * 1024

class PieceOutput {
  readonly #io: Io
  #parts: string[] = []
  #chars = 0

  constructor(io: Io) {
    this.#io = io
  }

  async add(piece: string): Promise<void> {
    this.#parts.push(piece)
    this.#chars += piece.length
    if (this.#chars >= GATHER_CHARS) await this.end()
  }

  async end(): Promise<void> {
    const text = this.#parts.join('')
    this.#parts = []
    this.#chars = 0
    if (text === '') return
    await new Promise<void>(resolve => {
      // A stream that was closed ends the process.
      this.#io.stdout.write(text, error => {
        if (!error) resolve()
      })
    })
  }
}

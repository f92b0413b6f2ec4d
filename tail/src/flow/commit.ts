import type { ConsumerCursor } from '@kim/manifest'

/**
 * Makes progress durable, and makes sure of it on every way out: also where the process ends in the middle, because
 * nobody reads its output any more.
 */
export class CursorCommitter {
  readonly #save: ((place: ConsumerCursor) => void) | undefined
  readonly #place: () => ConsumerCursor | undefined
  readonly #onExit: () => void
  #saved: string
  #isClosed = false

  constructor(
    save: ((place: ConsumerCursor) => void) | undefined,
    place: () => ConsumerCursor | undefined,
    saved: ConsumerCursor | undefined,
  ) {
    this.#save = save
    this.#place = place
    this.#saved = JSON.stringify(saved ?? null)
    this.#onExit = () => this.#commitLate()
    if (save !== undefined) process.once('exit', this.#onExit)
  }

  /** Saves the place, if it is another one than was saved last. */
  commit(): void {
    const place = this.#place()
    const text = JSON.stringify(place ?? null)
    if (this.#isClosed || this.#save === undefined || place === undefined || text === this.#saved) return
    this.#save(place)
    this.#saved = text
  }

  /** Saves for the last time. */
  finish(): void {
    try {
      this.commit()
    } finally {
      this.close()
    }
  }

  /** Nobody is left to be told but who reads stderr. */
  #commitLate(): void {
    try {
      this.commit()
    } catch (error) {
      process.exitCode = 1
      process.stderr.write(`kim-tail: ${error instanceof Error ? error.message : String(error)}\n`)
    }
  }

  /** Nothing is saved any more: somebody else may do so now. */
  close(): void {
    this.#isClosed = true
    process.removeListener('exit', this.#onExit)
  }
}

import type { Place } from '../consume/place.js'

/**
 * Makes progress durable, and makes sure of it on every way out: also where the process ends in the middle, because
 * nobody reads its output any more.
 */
export class Committer {
  readonly #save: ((place: Place) => void) | undefined
  readonly #place: () => Place | undefined
  readonly #onExit: () => void
  #saved: string
  #isClosed = false

  constructor(
    save: ((place: Place) => void) | undefined,
    place: () => Place | undefined,
    saved: Place | undefined,
  ) {
    this.#save = save
    this.#place = place
    this.#saved = JSON.stringify(saved ?? null)
    this.#onExit = () => this.commit()
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

  /** Nothing is saved any more: somebody else may do so now. */
  close(): void {
    this.#isClosed = true
    process.removeListener('exit', this.#onExit)
  }
}

/** Functions that a host gave to be called back. One that throws is reported as a bug; the others are called all the same. */
export class Callbacks<T> {
  readonly #all = new Set<(value: T) => void>()
  readonly #onBug: (bug: unknown) => void

  constructor(onBug: (bug: unknown) => void) {
    this.#onBug = onBug
  }

  get isEmpty(): boolean {
    return this.#all.size === 0
  }

  /** Adds a callback. The function that is returned removes it. */
  add(callback: (value: T) => void): () => void {
    // A function of its own: a callback that was added twice is called twice and removed once.
    const own = (value: T): void => callback(value)
    this.#all.add(own)
    return () => {
      this.#all.delete(own)
    }
  }

  call(value: T): void {
    for (const callback of this.#all) {
      try {
        callback(value)
      } catch (bug) {
        this.#onBug(bug)
      }
    }
  }

  clear(): void {
    this.#all.clear()
  }
}

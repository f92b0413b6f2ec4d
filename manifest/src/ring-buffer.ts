/** The newest items, up to a number of them. */
export class RingBuffer<T> {
  readonly #items: T[] = []
  readonly #capacity: number
  #oldest = 0

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** Adds the newest item; the oldest goes if there is no room. */
  push(item: T): void {
    if (this.#items.length < this.#capacity) {
      this.#items.push(item)
      return
    }
    this.#items[this.#oldest] = item
    this.#oldest = (this.#oldest + 1) % this.#capacity
  }

  /** Oldest first. */
  toArray(): T[] {
    return [...this.#items.slice(this.#oldest), ...this.#items.slice(0, this.#oldest)]
  }
}

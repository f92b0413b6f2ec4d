/** Numbers of the messages of one persona that are there, and which is the highest. */
export class LiveIds {
  readonly #times = new Map<number, number>()
  /** Ascending; those that are gone stay until they would be the highest. */
  readonly #order: number[] = []

  add(id: number): void {
    this.#times.set(id, (this.#times.get(id) ?? 0) + 1)
    // They mostly come in ascending order.
    if (id > (this.#order.at(-1) ?? Number.NEGATIVE_INFINITY)) this.#order.push(id)
    else {
      const at = this.#placeOf(id)
      if (this.#order[at] !== id) this.#order.splice(at, 0, id)
    }
  }

  delete(id: number): void {
    const times = (this.#times.get(id) ?? 0) - 1
    if (times > 0) this.#times.set(id, times)
    else this.#times.delete(id)
  }

  /** 0 if there is none. */
  get highest(): number {
    for (;;) {
      const id = this.#order.at(-1)
      if (id === undefined) return 0
      if (this.#times.has(id)) return id
      this.#order.pop()
    }
  }

  /** Where it stands, or belongs. */
  #placeOf(id: number): number {
    let low = 0
    let high = this.#order.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#order[middle] as number) < id) low = middle + 1
      else high = middle
    }
    return low
  }
}

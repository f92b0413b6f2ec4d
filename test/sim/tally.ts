/** How often what happened. */
export class Tally {
  readonly #counts: Map<string, number> = new Map()

  count(what: string): void {
    this.add(what, 1)
  }

  add(what: string, n: number): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + n)
  }

  /** Adds what another counted. */
  merge(other: Tally): void {
    for (const [what, n] of other.#counts) this.add(what, n)
  }

  of(what: string): number {
    return this.#counts.get(what) ?? 0
  }

  toString(): string {
    return [...this.#counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([what, n]) => `${what} ${n}`)
      .join(', ')
  }
}

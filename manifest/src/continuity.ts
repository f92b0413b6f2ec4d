/** Consecutive numbers, both ends included. */
export interface SeqRange {
  readonly from: number
  readonly to: number
}

/** What is left of `range` without what `cuts`, ascending by `from`, cover. */
function without(range: SeqRange, cuts: readonly SeqRange[]): SeqRange[] {
  const rest: SeqRange[] = []
  let from = range.from
  for (const cut of cuts) {
    if (cut.to < from) continue
    if (cut.from > range.to) break
    if (cut.from > from) rest.push({ from, to: cut.from - 1 })
    from = cut.to + 1
  }
  if (from <= range.to) rest.push({ from, to: range.to })
  return rest
}

/** Follows the highest number seen and remembers the numbers that were skipped on the way. */
export class Continuity {
  #highest: number
  readonly #skipped: SeqRange[] = []
  readonly #repairs: SeqRange[] = []

  /** `after` is the number before the first that is expected. */
  constructor(after: number) {
    this.#highest = after
  }

  /** The highest number seen, or what it began after. */
  get highest(): number {
    return this.#highest
  }

  /** A line with this number. */
  see(seq: number): void {
    if (seq <= this.#highest) return
    if (seq > this.#highest + 1) this.#skipped.push({ from: this.#highest + 1, to: seq - 1 })
    this.#highest = seq
  }

  /** A repair that explains these numbers, wherever in the journal it stands. */
  repair(range: SeqRange): void {
    this.#repairs.push(range)
  }

  /** The maximal runs of numbers skipped that no repair explains, ascending. */
  openHoles(): SeqRange[] {
    if (this.#repairs.length === 0) return [...this.#skipped]
    const cuts = this.#repairs.toSorted((a, b) => a.from - b.from)
    return this.#skipped.flatMap(range => without(range, cuts))
  }
}

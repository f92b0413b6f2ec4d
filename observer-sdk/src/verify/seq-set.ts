import type { SeqRange } from '@kim/manifest'

/**
 * A set of sequence numbers as ranges: a journal without holes is one range however long it is. Numbers mostly
 * arrive ascending, so the last range is looked at first.
 */
export class SeqSet {
  readonly #from: number[] = []
  readonly #to: number[] = []

  /** Adds one number. */
  add(seq: number): void {
    const last = this.#to.length - 1
    if (last < 0 || seq > (this.#to[last] ?? 0) + 1) {
      this.#from.push(seq)
      this.#to.push(seq)
    } else if (seq === (this.#to[last] ?? 0) + 1) {
      this.#to[last] = seq
    } else if (!this.has(seq)) {
      this.#insert(seq)
    }
  }

  /** Whether the number was added. */
  has(seq: number): boolean {
    const at = this.#rangeFrom(seq)
    return at >= 0 && seq <= (this.#to[at] ?? 0)
  }

  /** Whether every number of a range was added; an empty range is covered. */
  covers(range: SeqRange): boolean {
    if (range.from > range.to) return true
    const at = this.#rangeFrom(range.from)
    return at >= 0 && range.to <= (this.#to[at] ?? 0)
  }

  /** The parts of `range` that are not in the set, ascending. */
  missingIn(range: SeqRange): SeqRange[] {
    const missing: SeqRange[] = []
    let next = range.from
    let at = Math.max(0, this.#rangeFrom(range.from))
    for (; next <= range.to && at < this.#from.length; at += 1) {
      const from = this.#from[at] ?? 0
      const to = this.#to[at] ?? 0
      if (from > range.to) break
      if (from > next) missing.push({ from: next, to: from - 1 })
      if (to >= next) next = to + 1
    }
    if (next <= range.to) missing.push({ from: next, to: range.to })
    return missing
  }

  /** Adds every number of a range. */
  addRange(range: SeqRange): void {
    // Ranges do not touch, so at most the last one that begins before this one can reach it.
    const before = this.#rangeFrom(range.from)
    const first = before >= 0 && (this.#to[before] ?? 0) >= range.from - 1 ? before : before + 1
    if (first === this.#from.length) {
      this.#from.push(range.from)
      this.#to.push(range.to)
      return
    }
    let from = range.from
    let to = range.to
    let end = first
    for (; end < this.#from.length && (this.#from[end] ?? 0) <= range.to + 1; end += 1) {
      from = Math.min(from, this.#from[end] ?? from)
      to = Math.max(to, this.#to[end] ?? to)
    }
    this.#from.splice(first, end - first, from)
    this.#to.splice(first, end - first, to)
  }

  /** Index of the last range that starts at or below `seq`, -1 if none does. */
  #rangeFrom(seq: number): number {
    let low = 0
    let high = this.#from.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#from[middle] ?? 0) <= seq) low = middle + 1
      else high = middle
    }
    return low - 1
  }

  #insert(seq: number): void {
    const below = this.#rangeFrom(seq)
    const joinsBelow = below >= 0 && this.#to[below] === seq - 1
    const joinsAbove = this.#from[below + 1] === seq + 1
    if (joinsBelow && joinsAbove) {
      this.#to[below] = this.#to[below + 1] ?? seq
      this.#from.splice(below + 1, 1)
      this.#to.splice(below + 1, 1)
    } else if (joinsBelow) this.#to[below] = seq
    else if (joinsAbove) this.#from[below + 1] = seq
    else {
      this.#from.splice(below + 1, 0, seq)
      this.#to.splice(below + 1, 0, seq)
    }
  }
}

import { isSeq, type ReadRecord } from './envelope.js'

/** Consecutive numbers, both ends included. */
export interface SeqRange {
  readonly from: number
  readonly to: number
}

/** Ranges as they are merged: ascending, neither overlapping nor adjacent. */
function merged(ranges: readonly SeqRange[]): SeqRange[] {
  const result: { from: number; to: number }[] = []
  for (const { from, to } of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = result.at(-1)
    if (last !== undefined && from <= last.to + 1) last.to = Math.max(last.to, to)
    else result.push({ from, to })
  }
  return result
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

  /** The maximal runs of numbers skipped that repairs do not wholly cover, ascending. */
  openHoles(): SeqRange[] {
    const repairs = merged(this.#repairs)
    let next = 0
    return this.#skipped.filter(({ from, to }) => {
      while ((repairs[next]?.to ?? Infinity) < from) next++
      const repair = repairs[next]
      return repair === undefined || repair.from > from || repair.to < to
    })
  }
}

/** The numbers that a `seq_repair` explains. */
export function repairedBy({
  action,
  payload,
}: Pick<ReadRecord, 'action' | 'payload'>): SeqRange | undefined {
  if (action !== 'seq_repair' || payload === undefined) return undefined
  const { from, to } = payload
  return isSeq(from) && isSeq(to) && from <= to ? { from, to } : undefined
}

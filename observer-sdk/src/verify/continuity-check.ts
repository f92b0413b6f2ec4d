import { type ReadRecord, repairedBy, type SeqRange } from '@kim/manifest'
import type { RecordEntry } from './entry.js'
import type { FindingLocation, FindingLog } from './findings.js'
import { SeqSet } from './seq-set.js'

interface Hole {
  readonly range: SeqRange
  /** The line after the hole; of it nothing but the place is kept. */
  readonly place: FindingLocation
}

/** Holes kept to be explained by a later repair; beyond them a journal is simply full of holes. */
const AWAITING_MAX = 100_000

/** Seq continuity: every number once, ascending, and whatever is missing explained by a `seq_repair`. */
export class ContinuityCheck {
  readonly #log: FindingLog
  readonly #known = new SeqSet()
  readonly #repaired = new SeqSet()
  readonly #awaiting: Hole[] = []
  #holes = 0
  #highest: number
  #head = 0

  /** `after` is the number before the first that is expected. */
  constructor(log: FindingLog, after: number) {
    this.#log = log
    this.#highest = after
  }

  /** The highest seq among valid records, 0 if there is none. */
  get head(): number {
    return this.#head
  }

  /** The highest seq of any line, or what it began after. */
  get highest(): number {
    return this.#highest
  }

  /** How many holes there were so far, explained later or not. */
  get holes(): number {
    return this.#holes
  }

  /** Whether a valid record with this seq comes before. */
  has(seq: number): boolean {
    return this.#known.has(seq)
  }

  /** Whether the records of all numbers between two others are known: nothing can have happened unseen. */
  knowsBetween(below: number, above: number): boolean {
    return this.#known.covers({ from: below + 1, to: above - 1 })
  }

  /** A record with or without effect. */
  record(entry: RecordEntry): void {
    const { seq } = entry
    if (seq > this.#highest) this.#advance(seq, entry)
    else if (this.#known.has(seq))
      this.#log.report('duplicate_seq', entry, `seq ${seq} is already in an earlier record`)
    else this.#log.report('seq_regressed', entry, `seq ${seq} after ${this.#highest}`)
    this.#known.add(seq)
    this.#head = Math.max(this.#head, seq)
    this.explain(entry.record)
  }

  /** A record that may explain a hole and is not judged itself. */
  explain(record: ReadRecord): void {
    const repaired = repairedBy(record)
    if (repaired !== undefined) this.#repaired.addRange(repaired)
  }

  /** A line of a later version. */
  future(seq: number, place: FindingLocation): void {
    if (seq > this.#highest) this.#advance(seq, place)
  }

  /** Numbers that no line before this place holds. */
  hole(range: SeqRange, { segment, offset, seq }: FindingLocation): void {
    if (range.from > range.to) return
    const place = { segment, offset, seq }
    this.#holes += 1
    if (this.#awaiting.length < AWAITING_MAX) this.#awaiting.push({ range, place })
    else this.#log.report('seq_hole', place, `seq ${text(range)} missing`)
  }

  /** Judges the holes, whose repairs may come anywhere after them; returns the numbers that none explains. */
  end(): SeqRange[] {
    const missing: SeqRange[] = []
    for (const { range, place } of this.#awaiting) {
      const open = this.#repaired.missingIn(range)
      for (const each of open) missing.push(each)
      if (open.length === 0)
        this.#log.report('hole_repaired', place, `seq ${text(range)}: a repair explains it`)
      else this.#log.report('seq_hole', place, `seq ${open.map(text).join(', ')} missing`)
    }
    return missing
  }

  #advance(seq: number, place: FindingLocation): void {
    this.hole({ from: this.#highest + 1, to: seq - 1 }, place)
    this.#highest = seq
  }
}

function text({ from, to }: SeqRange): string {
  return from === to ? String(from) : `${from}…${to}`
}

import { isSeq, type ReadRecord, type SeqRange } from '@kim/manifest'
import type { LinePlace, RecordEntry } from './entry.js'
import type { FindingLog, Place } from './findings.js'
import { SeqSet } from './seq-set.js'

interface Hole {
  readonly range: SeqRange
  /** The line after the hole; of it nothing but the place is kept. */
  readonly place: Place
}

/** Seq continuity: every number once, ascending, and whatever is missing explained by a `seq_repair`. */
export class ContinuityCheck {
  readonly #log: FindingLog
  readonly #known = new SeqSet()
  readonly #repaired = new SeqSet()
  readonly #holes: Hole[] = []
  #after: number
  #highest: number
  #head = 0

  /** `after` is the number before the first that available history should hold. */
  constructor(log: FindingLog, after: number) {
    this.#log = log
    this.#after = after
    this.#highest = after
  }

  /** The highest seq among valid records, 0 if there is none. */
  get head(): number {
    return this.#head
  }

  /** Whether a valid record with this seq stands before. */
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
    const repaired = repairedBy(entry.record)
    if (repaired !== undefined) this.#repaired.addRange(repaired)
  }

  /** A line of a later version. */
  future(seq: number, place: LinePlace): void {
    if (seq > this.#highest) this.#advance(seq, place)
  }

  /** Judges the holes: a repair may stand anywhere after them. */
  end(): void {
    for (const { range, place } of this.#holes) {
      const open = this.#repaired.missingIn(range)
      if (open.length === 0)
        this.#log.report('hole_repaired', place, `seq ${text(range)}: a repair explains it`)
      else this.#log.report('seq_hole', place, `seq ${open.map(text).join(', ')} missing`)
    }
    if (this.#after > 0)
      this.#log.report('history_starts_at', { seq: this.#after + 1 }, startText(this.#after))
  }

  #advance(seq: number, place: LinePlace): void {
    const { segment, offset } = place
    if (seq > this.#highest + 1) {
      this.#holes.push({ range: { from: this.#highest + 1, to: seq - 1 }, place: { segment, offset, seq } })
    }
    this.#highest = seq
  }
}

function repairedBy({ action, payload }: ReadRecord): SeqRange | undefined {
  if (action !== 'seq_repair' || payload === undefined) return undefined
  const { from, to } = payload
  return isSeq(from) && isSeq(to) && from <= to ? { from, to } : undefined
}

function startText(after: number): string {
  return `records up to seq ${after} are not available`
}

function text({ from, to }: SeqRange): string {
  return from === to ? String(from) : `${from}…${to}`
}

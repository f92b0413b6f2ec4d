/** Checks of numbers: every seq once and ascending, and every revision of an entity one above the one before. */
import { forgetsRevision, type ReadRecord, repairedBy, type SeqRange } from '@kim/manifest'
import type { FindingLocation, FindingLog } from './findings.js'
import type { HashedState } from './hashed-state.js'
import type { RecordEntry } from './walk.js'

/**
 * A set of sequence numbers as ranges: a journal without holes is one range however long it is. Numbers mostly
 * arrive ascending, so the last range is looked at first.
 */
export class SeqSet {
  /** Ascending, none touching the next. */
  readonly #ranges: { from: number; to: number }[] = []

  /** Adds one number. */
  add(seq: number): void {
    const last = this.#ranges.at(-1)
    if (last === undefined || seq > last.to + 1) this.#ranges.push({ from: seq, to: seq })
    else if (seq === last.to + 1) last.to = seq
    else this.addRange({ from: seq, to: seq })
  }

  /** Whether the number was added. */
  has(seq: number): boolean {
    return this.covers({ from: seq, to: seq })
  }

  /** Whether every number of a range was added; an empty range is covered. */
  covers({ from, to }: SeqRange): boolean {
    const range = this.#ranges[this.#indexFrom(from)]
    return from > to || (range !== undefined && to <= range.to)
  }

  /** The parts of `range` that are not in the set, ascending. */
  missingIn(range: SeqRange): SeqRange[] {
    const missing: SeqRange[] = []
    let next = range.from
    for (let at = Math.max(0, this.#indexFrom(range.from)); next <= range.to; at += 1) {
      const { from, to } = this.#ranges[at] ?? { from: Number.POSITIVE_INFINITY, to: range.to }
      if (from > next) missing.push({ from: next, to: Math.min(from - 1, range.to) })
      next = Math.max(next, to + 1)
      if (from > range.to) break
    }
    return missing
  }

  /** Adds every number of a range. */
  addRange(range: SeqRange): void {
    // Ranges do not touch, so at most the last one that begins before this one can reach it.
    const before = this.#indexFrom(range.from)
    const first =
      (this.#ranges[before]?.to ?? Number.NEGATIVE_INFINITY) >= range.from - 1 ? before : before + 1
    const merged = { ...range }
    let end = first
    for (let next = this.#ranges[end]; next && next.from <= range.to + 1; next = this.#ranges[end]) {
      merged.from = Math.min(merged.from, next.from)
      merged.to = Math.max(merged.to, next.to)
      end += 1
    }
    this.#ranges.splice(first, end - first, merged)
  }

  /** Index of the last range that starts at or below `seq`, -1 if none does. */
  #indexFrom(seq: number): number {
    let low = 0
    let high = this.#ranges.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#ranges[middle]?.from ?? 0) <= seq) low = middle + 1
      else high = middle
    }
    return low - 1
  }
}

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
  /** How many holes there were so far, explained later or not. */
  holes = 0
  /** The highest seq of any line, or what it began after. */
  highest: number
  /** The highest seq among valid records, 0 if there is none. */
  head = 0

  /** `after` is the number before the first that is expected. */
  constructor(log: FindingLog, after: number) {
    this.#log = log
    this.highest = after
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
    if (seq > this.highest) this.#advance(seq, entry)
    else if (this.#known.has(seq))
      this.#log.report('duplicate_seq', entry, `seq ${seq} is already in an earlier record`)
    else this.#log.report('seq_regressed', entry, `seq ${seq} comes after seq ${this.highest}`)
    this.#known.add(seq)
    this.head = Math.max(this.head, seq)
    this.explain(entry.record)
  }

  /** A record that may explain a hole and is not judged itself. */
  explain(record: ReadRecord): void {
    const repaired = repairedBy(record)
    if (repaired !== undefined) this.#repaired.addRange(repaired)
  }

  /** A line of a later version. */
  future(seq: number, place: FindingLocation): void {
    if (seq > this.highest) this.#advance(seq, place)
  }

  /** Numbers that no line before this place holds. */
  hole(range: SeqRange, { segment, offset, seq }: FindingLocation): void {
    if (range.from > range.to) return
    const place = { segment, offset, seq }
    this.holes += 1
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
    this.hole({ from: this.highest + 1, to: seq - 1 }, place)
    this.highest = seq
  }
}

function text({ from, to }: SeqRange): string {
  return from === to ? String(from) : `${from}…${to}`
}

/**
 * What is wrong with the revision of a record that changes an entity, if anything is: each is one above the one before,
 * deletes included. Ask before the record has its effect.
 */
export function revisionFault(
  { record: { entity_rev: rev, item_type: type, item_id: id = '' }, seq }: RecordEntry,
  state: HashedState,
  continuity: ContinuityCheck,
): string | undefined {
  if (rev === undefined) return undefined
  const before = state.get(type, id) ?? state.removal(type, id)
  if (before?.rev === undefined && before !== undefined) return undefined
  // A checkpoint does not state the revisions of removed entities of such a type.
  if (before === undefined && state.baseline > 0 && forgetsRevision(type)) return undefined
  const known = before?.rev ?? 0
  if (rev === known + 1) return undefined
  // Changes may have been lost where numbers are missing. A revision never goes back or stays the same.
  const since = before?.seq ?? state.baseline
  if (rev > known + 1 && !continuity.knowsBetween(since, seq)) return undefined
  return `${type} ${id}: revision ${rev} comes after revision ${known}`
}

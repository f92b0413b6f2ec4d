/** When a producer ran, as far as its notes and its records tell. */
import type { ReadRecord, SeqRange } from '@kim/manifest'
import { timestampMs } from '../timestamp.js'
import { hostEvents } from './host-time.js'

/** A part of a run in which the wall clock went on as time does. */
interface RunPart {
  readonly from_seq: number
  readonly to_seq: number
  /** The earliest and the latest time that a record of it states, in milliseconds. */
  readonly low_ms: number
  readonly high_ms: number
}

/** One run. */
export interface ProducerRun {
  readonly writer: string | null
  readonly from_seq: number
  readonly from_ts: string | null
  /** Its last record so far. */
  readonly to_seq: number
  readonly to_ts: string | null
  /** By how much the wall clock was set since the run before, as far as the other clocks tell; negative: back. */
  readonly set_ms: number
  /** From its first record on; a new part begins where the wall clock was set. */
  readonly parts: readonly RunPart[]
  /** Whether it said that it stops; else it ended unseen, or goes on. */
  readonly stopped: boolean
}

/** A clock that is set all the time gets no more parts than this: the last one then holds the rest. */
const PARTS_MAX = 1000

type Growing<T> = { -readonly [K in keyof T]: T[K] }

/** Follows the writers of records. */
export class ProducerRuns {
  readonly #runs: Growing<ProducerRun & { parts: Growing<RunPart>[] }>[] = []

  #before: ReadRecord | undefined

  /** Oldest first. */
  get all(): readonly ProducerRun[] {
    return this.#runs
  }

  /** `isClockSet` is whether the wall clock was set since the record before. */
  take(record: ReadRecord, isClockSet = false): void {
    const { seq, ts, writer, action, payload } = record
    const before = this.#before
    this.#before = record
    const kind = action === 'journal_note' ? payload?.['kind'] : undefined
    let run = this.#runs.at(-1)
    if (
      run === undefined ||
      run.writer !== (writer ?? null) ||
      (kind === 'producer_started' && run.stopped)
    ) {
      // What a store command appends between two runs is no run of a producer, but it is a time at which none ran.
      run = {
        writer: writer ?? null,
        from_seq: seq,
        from_ts: ts ?? null,
        to_seq: seq,
        to_ts: ts ?? null,
        set_ms: before === undefined ? 0 : clockSetBetween(before, record),
        parts: [],
        stopped: false,
      }
      this.#runs.push(run)
    }
    run.to_seq = seq
    takePart(run.parts, seq, timestampMs(ts), isClockSet)
    run.to_ts = ts ?? run.to_ts
    if (kind === 'producer_stopped') run.stopped = true
  }

  /** The times between two runs, as far as they lie between two times; by the clock as it went on after them. */
  gaps(
    sinceMs: number,
    untilMs: number,
  ): { readonly from: ProducerRun; readonly to: ProducerRun; readonly ms: number }[] {
    return this.#runs.flatMap((to, i) => {
      const from = this.#runs[i - 1]
      if (from === undefined) return []
      const [begin, end] = [timestampMs(from.to_ts) + to.set_ms, timestampMs(to.from_ts)]
      const ms = Math.min(end, untilMs) - Math.max(begin, sinceMs)
      return ms > 0 ? [{ from, to, ms }] : []
    })
  }
}

function clockSetBetween(from: ReadRecord, to: ReadRecord): number {
  return hostEvents({ from, to }).find(({ kind }) => kind === 'clock_set')?.ms ?? 0
}

function takePart(parts: Growing<RunPart>[], seq: number, at: number, isClockSet: boolean): void {
  const part = parts.at(-1)
  if (part === undefined || (isClockSet && parts.length < PARTS_MAX)) {
    const [low_ms, high_ms] = Number.isNaN(at)
      ? [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
      : [at, at]
    parts.push({ from_seq: seq, to_seq: seq, low_ms, high_ms })
    return
  }
  part.to_seq = seq
  if (at < part.low_ms) part.low_ms = at
  if (at > part.high_ms) part.high_ms = at
}

/** Whether one of the holes lies between two records: what they are neighbours of is not known then. */
export function liesWithin(holes: readonly SeqRange[], { from, to }: SeqRange): boolean {
  return holes.some(hole => hole.from > from && hole.to < to)
}

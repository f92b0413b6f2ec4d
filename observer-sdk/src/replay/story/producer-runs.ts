/** When a producer ran, as far as its notes and its records tell. */
import type { ReadRecord } from '@kim/manifest'
import { stampMs } from '../stamp.js'

/** One run. */
export interface ProducerRun {
  readonly writer: string | null
  readonly from_seq: number
  readonly from_ts: string | null
  /** Its last record so far. */
  readonly to_seq: number
  readonly to_ts: string | null
  /** The earliest and the latest time that a record of it states, in milliseconds: its clock may have been set back. */
  readonly low_ms: number
  readonly high_ms: number
  /** Whether it said that it stops; else it ended unseen, or goes on. */
  readonly stopped: boolean
}

/** Follows the writers of records. */
export class ProducerRuns {
  readonly #runs: { -readonly [K in keyof ProducerRun]: ProducerRun[K] }[] = []

  /** Oldest first. */
  get all(): readonly ProducerRun[] {
    return this.#runs
  }

  take({ seq, ts, writer = undefined, action, payload }: ReadRecord): void {
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
        low_ms: Number.POSITIVE_INFINITY,
        high_ms: Number.NEGATIVE_INFINITY,
        stopped: false,
      }
      this.#runs.push(run)
    }
    run.to_seq = seq
    const at = stampMs(ts)
    if (at < run.low_ms) run.low_ms = at
    if (at > run.high_ms) run.high_ms = at
    run.to_ts = ts ?? run.to_ts
    if (kind === 'producer_stopped') run.stopped = true
  }

  /** The times between two runs, as far as they lie between two times. */
  gaps(
    sinceMs: number,
    untilMs: number,
  ): { readonly from: ProducerRun; readonly to: ProducerRun; readonly ms: number }[] {
    return this.#runs.flatMap((to, i) => {
      const from = this.#runs[i - 1]
      if (from === undefined) return []
      const [begin, end] = [stampMs(from.to_ts), stampMs(to.from_ts)]
      const ms = Math.min(end, untilMs) - Math.max(begin, sinceMs)
      return ms > 0 ? [{ from, to, ms }] : []
    })
  }
}

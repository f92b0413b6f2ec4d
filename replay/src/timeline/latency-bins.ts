import type { ReadRecord } from '@kim/manifest'
import { timestampMs } from '../timestamp.js'
import type { Latency } from './timeline.js'

const UPTO_MS: readonly number[] = [
  ...[10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000, 300_000, 900_000, 3_600_000],
  ...[4 * 3_600_000, 86_400_000],
]

/** How long messages took from creation to the journal. */
export class LatencyBins {
  readonly #counts: number[] = new Array<number>(UPTO_MS.length + 1).fill(0)
  #messages = 0
  #unknown = 0
  #negative = 0

  /** Takes a message that woke somebody; gives how long it took, if that is known. */
  take({ ts, payload }: Pick<ReadRecord, 'ts' | 'payload'>): number | undefined {
    const created = payload?.['created']
    const wait = timestampMs(ts) - timestampMs(created)
    this.#messages += 1
    if (Number.isNaN(wait)) this.#unknown += 1
    else if (wait < 0) this.#negative += 1
    else {
      const at = UPTO_MS.findIndex(upto => wait <= upto)
      const bin = at === -1 ? UPTO_MS.length : at
      this.#counts[bin] = (this.#counts[bin] ?? 0) + 1
      return wait
    }
    return undefined
  }

  close(): Latency {
    return {
      upto_ms: [...UPTO_MS, null],
      counts: this.#counts,
      messages: this.#messages,
      unknown: this.#unknown,
      negative: this.#negative,
    }
  }
}

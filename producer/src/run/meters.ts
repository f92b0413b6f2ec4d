/** What is counted while the loop runs, for `metrics.prom`. */
import type { Draft } from '../journal/draft.js'
import type { Sample } from './metrics.js'

/** How often something took how long. Its size depends on its bounds alone, never on what was seen. */
export class Histogram {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0

  /** `bounds`: seconds, ascending; what is above the last one is counted too. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = [...bounds, 0].map(() => 0)
  }

  observe(seconds: number): void {
    const at = this.#bounds.findIndex(bound => seconds <= bound)
    const bucket = at === -1 ? this.#bounds.length : at
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#sum += seconds
  }

  samples(): readonly Sample[] {
    let total = 0
    const buckets = this.#counts.map((count, at): Sample => {
      total += count
      const bound = this.#bounds[at]
      return { labels: { le: bound === undefined ? '+Inf' : String(bound) }, value: total, suffix: '_bucket' }
    })
    return [
      ...buckets,
      { labels: {}, value: this.#sum, suffix: '_sum' },
      { labels: {}, value: total, suffix: '_count' },
    ]
  }
}

/** Seconds. A local disk syncs within the first few, a request over a network takes the later ones. */
const DISK_BOUNDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5]
const NETWORK_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]
const WAKE_BOUNDS = [0.001, 0.002, 0.004, 0.008, 0.015, 0.03, 0.06, 0.125, 0.25, 0.5, 1, 5, 30]

/** What is counted while the loop runs, for `metrics.prom`. All of it is bounded, whatever comes in. */
export class Meters {
  /** Requests for a page of an inbox, from sent to judged. */
  readonly polls: Histogram = new Histogram(NETWORK_BOUNDS)
  /** Commits, from encoding to durable. */
  readonly appends: Histogram = new Histogram(DISK_BOUNDS)
  /** Calls that make bytes durable. */
  readonly syncs: Histogram = new Histogram(DISK_BOUNDS)
  /** News, from the complete answer to durable: then every reader can be woken. */
  readonly wakes: Histogram = new Histogram(WAKE_BOUNDS)
  readonly #records: Record<string, number> = {}
  #commits = 0
  readonly #nowMs: () => number

  /** `nowMs`: a clock that is exact to less than a millisecond. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  /** Begins to measure; what comes back says the seconds since. */
  start(): () => number {
    const began = this.#nowMs()
    return () => Math.max(0, this.#nowMs() - began) / 1000
  }

  /** Measures one call that makes bytes durable; one that fails is not counted. */
  readonly sync = (call: () => void): void => {
    const seconds = this.start()
    call()
    this.syncs.observe(seconds())
  }

  /** A commit became durable. */
  appended(drafts: readonly Draft[], seconds: number): void {
    this.#commits++
    this.appends.observe(seconds)
    for (const { item_type, event, wait_ms } of drafts) {
      this.#records[item_type] = (this.#records[item_type] ?? 0) + 1
      if (event !== undefined && wait_ms !== undefined) this.wakes.observe(wait_ms / 1000 + seconds)
    }
  }

  get commits(): number {
    return this.#commits
  }

  /** Records by item type. The types are those that we write ourselves. */
  get records(): Readonly<Record<string, number>> {
    return this.#records
  }
}

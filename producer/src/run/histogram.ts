import type { Sample } from './exposition.js'

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

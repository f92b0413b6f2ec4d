import type { Clock, Timers } from '@kim/producer/internal'

/** Time that stands until it is told to go on. */
export class ManualTime implements Clock, Timers {
  #nowMs = 1000
  #due: { readonly atMs: number; readonly run: () => void }[] = []

  wallMs(): number {
    return this.#nowMs
  }

  monoMs(): number {
    return this.#nowMs
  }

  after(ms: number, run: () => void): () => void {
    const one = { atMs: this.#nowMs + ms, run }
    this.#due.push(one)
    return () => {
      this.#due = this.#due.filter(other => other !== one)
    }
  }

  /** How many calls are waiting: 0 once nothing was left behind. */
  get pending(): number {
    return this.#due.length
  }

  /** Lets so much time pass; what falls due runs at its own time, in order. */
  pass(ms: number): void {
    const end = this.#nowMs + ms
    for (;;) {
      const next = this.#due.filter(({ atMs }) => atMs <= end).sort((a, b) => a.atMs - b.atMs)[0]
      if (next === undefined) break
      this.#due = this.#due.filter(other => other !== next)
      this.#nowMs = Math.max(this.#nowMs, next.atMs)
      next.run()
    }
    this.#nowMs = end
  }
}

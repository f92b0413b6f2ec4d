import type { Timers, Turn } from '@kim/producer/internal'
import type { HandClock } from './store.js'

/** An event loop that a test turns by hand: turns, and timers that fire when the clock has passed them. */
export class HandLoop {
  readonly #clock: HandClock
  #soon: (() => void)[] = []
  #timers: { readonly atMs: number; readonly run: () => void }[] = []
  /** Turns that were taken. */
  turns = 0

  readonly turn: Turn = { soon: run => void this.#soon.push(run) }

  readonly timers: Timers = {
    after: (ms, run) => {
      const timer = { atMs: this.#clock.mono + Math.max(ms, 1), run }
      this.#timers.push(timer)
      return () => {
        this.#timers = this.#timers.filter(other => other !== timer)
      }
    },
  }

  constructor(clock: HandClock) {
    this.#clock = clock
  }

  /** How long each timer that is set has still to go. */
  get waits(): number[] {
    return this.#timers.map(({ atMs }) => atMs - this.#clock.mono).sort((a, b) => a - b)
  }

  /** Takes turns until nothing asks for another one. */
  async run(): Promise<void> {
    for (let rounds = 0; rounds < 1000; rounds++) {
      // What was answered arrives by promises.
      await new Promise(resolve => setImmediate(resolve))
      const due = this.#soon.splice(0)
      if (due.length === 0) return
      for (const run of due) {
        this.turns++
        run()
      }
    }
    throw new Error('it never comes to rest')
  }

  /** Time passes; the timers it passes fire in their order. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#clock.mono + ms
    for (;;) {
      const [next] = this.#timers.filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)
      if (next === undefined) break
      this.#timers = this.#timers.filter(other => other !== next)
      this.#move(next.atMs - this.#clock.mono)
      next.run()
      await this.run()
    }
    this.#move(untilMs - this.#clock.mono)
  }

  #move(ms: number): void {
    this.#clock.mono += ms
    this.#clock.wall += ms
  }
}

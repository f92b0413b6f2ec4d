import type { Timers, Turn } from '@kim/producer/internal'
import type { SimClock } from '../kit/index.js'

interface Due {
  readonly atMs: number
  /** What is due at the same time comes in the order in which it was asked for. */
  readonly order: number
  readonly run: () => void
}

/** Everything that was promised has had its turn by then. */
const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/**
 * The event loop of a simulated host, and the world around it. The host's timers go by its monotonic clock and stand
 * still while it sleeps; what happens elsewhere goes by the wall clock and does not wait for it.
 */
export class SimLoop implements Timers, Turn {
  readonly clock: SimClock
  #turns: (() => void)[] = []
  #timers: readonly Due[] = []
  #world: readonly Due[] = []
  #orders = 0
  #isAsleep = false

  constructor(clock: SimClock) {
    this.clock = clock
  }

  /** True while the host is suspended. */
  get isAsleep(): boolean {
    return this.#isAsleep
  }

  sleep(): void {
    this.#isAsleep = true
  }

  wake(): void {
    this.#isAsleep = false
  }

  soon(run: () => void): void {
    this.#turns.push(run)
  }

  after(ms: number, run: () => void): () => void {
    const due = this.#due(this.clock.monoMs() + Math.max(ms, 1), run)
    this.#timers = inserted(this.#timers, due)
    return () => {
      this.#timers = this.#timers.filter(other => other !== due)
    }
  }

  /** Something happens elsewhere, at a time of the wall clock; what comes back takes it away again. */
  at(wallMs: number, run: () => void): () => void {
    const due = this.#due(wallMs, run)
    this.#world = inserted(this.#world, due)
    return () => {
      this.#world = this.#world.filter(other => other !== due)
    }
  }

  /** Runs until a time of the wall clock. */
  async until(wallMs: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      await settled()
      signal.throwIfAborted()
      const turns = this.#turns
      this.#turns = []
      for (const run of turns) run()
      if (turns.length > 0) continue
      if (!this.#step(wallMs)) return
    }
  }

  /** Does the next thing; false if there is none before that time. */
  #step(wallMs: number): boolean {
    const [timer] = this.#timers
    const [event] = this.#world
    const now = this.clock.wallMs()
    const timerMs = timer === undefined || this.#isAsleep ? Infinity : now + timer.atMs - this.clock.monoMs()
    const eventMs = event?.atMs ?? Infinity
    const nextMs = Math.min(timerMs, eventMs)
    const passedMs = Math.max(0, Math.min(nextMs, wallMs) - now)
    if (this.#isAsleep) this.clock.suspend(passedMs)
    else this.clock.advance(passedMs)
    if (nextMs > wallMs) return false
    if (eventMs <= timerMs) {
      this.#world = this.#world.slice(1)
      event?.run()
    } else {
      this.#timers = this.#timers.slice(1)
      timer?.run()
    }
    return true
  }

  #due(atMs: number, run: () => void): Due {
    return { atMs, order: this.#orders++, run }
  }
}

function inserted(list: readonly Due[], due: Due): readonly Due[] {
  return [...list, due].sort((a, b) => a.atMs - b.atMs || a.order - b.order)
}

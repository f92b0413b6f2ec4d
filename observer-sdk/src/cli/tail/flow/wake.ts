/** A thing that wants to be looked at when its time has come. */
export interface Due {
  /** In the milliseconds of the clock that is used; undefined for never. */
  readonly dueAtMs: number | undefined
}

/** Timers beyond this wrap around in Node and fire at once. */
export const TIMER_MS_MAX: number = 2 ** 31 - 1

/**
 * Sleeps until it is rung or something is due. A ring while nobody sleeps is kept. One timer at a time, none while
 * nothing is due, and nothing is left behind by a sleep: a command that follows for months must not grow.
 */
export class Wake {
  #rung = false
  #resolve: (() => void) | undefined

  /** Ends the sleep, or the next one. */
  ring(): void {
    this.#rung = true
    this.#resolve?.()
  }

  /** Sleeps. */
  async sleep(dues: readonly Due[], nowMs: () => number): Promise<void> {
    const times = dues.flatMap(({ dueAtMs }) => (dueAtMs === undefined ? [] : [dueAtMs]))
    const delay = times.length === 0 ? undefined : Math.max(Math.min(...times) - nowMs(), 0)
    if (!this.#rung && delay !== 0) {
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>(resolve => {
        this.#resolve = resolve
        if (delay !== undefined) timer = setTimeout(resolve, Math.min(delay, TIMER_MS_MAX))
      })
      clearTimeout(timer)
    }
    this.#resolve = undefined
    this.#rung = false
  }
}

/** Something that is due every so often. */
export class Every implements Due {
  readonly #everyMs: number
  #nextMs: number

  constructor(everyMs: number, nowMs: number) {
    this.#everyMs = everyMs
    this.#nextMs = nowMs + everyMs
  }

  get dueAtMs(): number {
    return this.#nextMs
  }

  /** True if it is due; then it is not again before the interval has passed. */
  take(nowMs: number): boolean {
    if (nowMs < this.#nextMs) return false
    this.#nextMs = nowMs + this.#everyMs
    return true
  }
}

import type { Signal, Timers } from '@kim/manifest'

/** A thing that wants to be looked at when its time has come. */
export interface Due {
  /** In the milliseconds of the clock that is used; undefined for never. */
  readonly dueAtMs: number | undefined
}

/** Timers beyond this wrap around in Node and fire at once. */
export const TIMER_MS_MAX: number = 2 ** 31 - 1

/** The event loop's timers. */
const timers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, Math.min(ms, TIMER_MS_MAX))
    return () => clearTimeout(timer)
  },
}

/** Sleeps until the signal is raised or something is due. No timer runs while nothing is due. */
export async function sleepUntilDue(
  signal: Signal,
  dues: readonly Due[],
  nowMs: () => number,
): Promise<void> {
  const times = dues.flatMap(({ dueAtMs }) => (dueAtMs === undefined ? [] : [dueAtMs]))
  await signal.sleep(times.length === 0 ? undefined : Math.min(...times) - nowMs(), timers)
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

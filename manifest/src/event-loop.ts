/** How loops wait without losing a wake-up, and how long work leaves turns to others. */

/** The one-shot timers that a caller waits with. */
export interface Timers {
  /** Calls `run` once after that many milliseconds; the function it returns takes the timer away again. */
  after(ms: number, run: () => void): () => void
}

/**
 * Wakes loops that wait for something to happen. A raise is never lost: `sleep` returns at once if one came since the
 * last sleep, and `next` if one came since the caller read `count`. A wait that ended leaves nothing behind, because a
 * loop may wait for months.
 */
export class Signal {
  readonly #waiting = new Set<() => void>()
  #count = 0
  /** How often it was raised when the last sleep ended. */
  #slept = 0

  /** How often it was raised. */
  get count(): number {
    return this.#count
  }

  /** Ends every wait. Returns whether there was one. */
  raise(): boolean {
    this.#count += 1
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const wake of waiting) wake()
    return waiting.length > 0
  }

  /** Resolves at the next raise; undefined if it was raised since its count was `count`. */
  next(count: number): Promise<void> | undefined {
    return this.#count === count ? new Promise(wake => void this.#waiting.add(wake)) : undefined
  }

  /** Sleeps until the next raise, for so many milliseconds at most; for one loop only. Without a limit: `undefined`. */
  async sleep(ms: number | undefined, timers: Timers): Promise<void> {
    if (this.#count === this.#slept && (ms === undefined || ms > 0)) {
      let cancel: () => void = () => undefined
      await new Promise<void>(resolve => {
        this.#waiting.add(resolve)
        if (ms !== undefined) {
          cancel = timers.after(ms, () => {
            this.#waiting.delete(resolve)
            resolve()
          })
        }
      })
      cancel()
    }
    this.#slept = this.#count
  }
}

/** Work in slices of a few milliseconds: between two of them something else may be done. */
export type Slices<T> = Generator<void, T>

/** Does all of it before it returns. */
export function runAtOnce<T>(slices: Slices<T>): T {
  for (;;) {
    const step = slices.next()
    if (step.done === true) return step.value
  }
}

/** Does each slice in a turn of its own, so that others get theirs; rejects with the signal's reason once it is aborted. */
export async function runInTurns<T>(slices: Slices<T>, signal: AbortSignal | undefined): Promise<T> {
  for (;;) {
    const step = slices.next()
    if (step.done === true) return step.value
    await nextTurn(signal)
  }
}

/** Resolves in a later turn of the event loop; rejects with the signal's reason if it was aborted by then. */
export function nextTurn(signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    setImmediate(() => (signal?.aborted === true ? reject(signal.reason) : resolve()))
  })
}

import type { Timers } from '../effects/timers.js'

/** Lets one loop sleep until it is rung or a time has come. A ring while nobody sleeps is kept. */
export class Bell {
  readonly #timers: Timers
  #isRung = false
  #wake: (() => void) | undefined

  constructor(timers: Timers) {
    this.#timers = timers
  }

  ring(): void {
    this.#isRung = true
    this.#wake?.()
  }

  /** Sleeps for so many milliseconds at most; without a number, until it is rung. */
  async sleep(ms: number | undefined): Promise<void> {
    if (!this.#isRung && (ms === undefined || ms > 0)) {
      let forget: () => void = () => undefined
      await new Promise<void>(resolve => {
        this.#wake = resolve
        if (ms !== undefined) forget = this.#timers.after(ms, resolve)
      })
      forget()
    }
    this.#wake = undefined
    this.#isRung = false
  }
}

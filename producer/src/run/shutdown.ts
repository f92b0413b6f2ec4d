import { KimError } from '@kim/manifest'
import { toFailure } from '../journal/failure.js'
import type { Ending } from './driver.js'
import type { RunLog } from './run-log.js'

/**
 * The steps of an end: each is taken whatever became of those before it, so that no fault leaves a process that holds
 * the store and does nothing. The first fault is the reason of the end; later ones are said as warnings (CL-14).
 */
export class Shutdown {
  readonly #log: RunLog
  #ending: Ending

  constructor(ending: Ending, log: RunLog) {
    this.#ending = ending
    this.#log = log
  }

  /** How it ended: a clean stop whose steps failed is none. */
  get ending(): Ending {
    return this.#ending
  }

  /** Takes a step; `doing` says which, as in "cannot …". */
  async step(doing: string, act: () => void | Promise<void>): Promise<void> {
    try {
      await act()
    } catch (cause) {
      const error = toFailure(cause, doing)
      if (this.#ending.kind === 'stopped') this.#ending = { kind: 'failed', error }
      else this.#say(doing, error)
    }
  }

  #say(doing: string, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error)
    this.#log({
      level: 'warn',
      code: 'shutdown_step_failed',
      message: error instanceof KimError ? why : `cannot ${doing}: ${why}`,
      hint: 'the process ends all the same; the last line of the log says what failed first',
    })
  }
}

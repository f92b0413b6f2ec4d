import type { Batch } from '../tail/source.js'

/** Most batches that are read before the state shows the first one. */
const BATCHES_MAX = 16

/** What was read and the state does not show yet, because whoever waits for it is handed it first. */
export class Owed {
  readonly #onDue: () => void
  #batches: Batch[] = []
  #due: NodeJS.Immediate | undefined

  /** `onDue` is called when nobody is to wait for the state any longer. */
  constructor(onDue: () => void) {
    this.#onDue = onDue
  }

  get isEmpty(): boolean {
    return this.#batches.length === 0
  }

  /** As much as may be owed: what a writer that never pauses appends is shown too. */
  get isFull(): boolean {
    return this.#batches.length >= BATCHES_MAX
  }

  add(batch: Batch): void {
    this.#batches.push(batch)
  }

  /** Due in the turn after the next: what a burst brings meanwhile is handed over before as well. */
  settleSoon(): void {
    this.#due ??= setImmediate(() => {
      this.#due = setImmediate(this.#onDue)
    })
  }

  /** Not due yet: what belongs to it is about to be read. */
  wait(): void {
    clearImmediate(this.#due)
    this.#due = undefined
  }

  /** All of it, oldest first; nothing is owed then. */
  take(): readonly Batch[] {
    this.wait()
    const batches = this.#batches
    this.#batches = []
    return batches
  }
}

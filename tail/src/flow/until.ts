import type { Due } from './due.js'

/** The end of a span of time that is followed: once the clock has passed it, nothing that comes lies within. */
export class Until implements Due {
  readonly #untilMs: number
  readonly #isDrained: () => boolean

  /** `isDrained`: what stood there is read first, however long that takes. */
  constructor(untilMs: number, isDrained: () => boolean) {
    this.#untilMs = untilMs
    this.#isDrained = isDrained
  }

  get dueAtMs(): number | undefined {
    return this.#isDrained() ? performance.now() + Math.max(0, this.#untilMs - Date.now() + 1) : undefined
  }

  /** Whether it has come. */
  get isOver(): boolean {
    return this.#isDrained() && Date.now() > this.#untilMs
  }
}

import { parseDuration, usageError } from '@kim/cli-kit'

/** At most so many lines in so much time. */
export interface Rate {
  readonly lines: number
  readonly perMs: number
}

/** What was held back. */
export interface Suppressed {
  readonly n: number
  readonly first: number
  readonly last: number
}

/** Reads `10/1m`. */
export function parseRate(text: string): Rate {
  const match = /^(\d{1,6})\/(.+)$/.exec(text)
  const lines = Number(match?.[1])
  const perMs = parseDuration(match?.[2] ?? '')
  if (!(lines >= 1) || perMs === undefined || perMs < 1) {
    throw usageError(`--max-rate cannot be "${text}"`, 'give a number of lines and a duration, such as 10/1m')
  }
  return { lines, perMs }
}

/**
 * Lets the first lines of each window pass and counts the rest, so that a flood costs its reader a bounded number of
 * lines and one that says what was left out. A window begins with a line, not with a clock.
 */
export class RateGate {
  readonly #rate: Rate
  #windowMs: number | undefined
  #passed = 0
  #suppressed: Suppressed | undefined

  constructor(rate: Rate) {
    this.#rate = rate
  }

  /** Whether the record with this seq may be printed now. */
  admits(seq: number, nowMs: number): boolean {
    if (
      this.#windowMs === undefined ||
      (this.#suppressed === undefined && nowMs - this.#windowMs >= this.#rate.perMs)
    ) {
      this.#windowMs = nowMs
      this.#passed = 0
    }
    if (this.#suppressed === undefined && this.#passed < this.#rate.lines) {
      this.#passed += 1
      return true
    }
    const { n = 0, first = seq } = this.#suppressed ?? {}
    this.#suppressed = { n: n + 1, first, last: seq }
    return false
  }

  /** When what was held back is to be told; undefined if nothing was. */
  get dueAtMs(): number | undefined {
    return this.#suppressed === undefined ? undefined : (this.#windowMs ?? 0) + this.#rate.perMs
  }

  /** What was held back, once its window is over (or now, at the end). The telling counts as the first line of a new window. */
  take(nowMs: number, atEnd = false): Suppressed | undefined {
    const suppressed = this.#suppressed
    if (suppressed === undefined || (!atEnd && nowMs < (this.dueAtMs ?? 0))) return undefined
    this.#suppressed = undefined
    this.#windowMs = nowMs
    this.#passed = 1
    return suppressed
  }
}

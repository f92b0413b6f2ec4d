import type { SlowMessage } from './timeline.js'

/** How many are told of. */
const SLOWEST_MAX = 10

/** Keeps the messages that took longest from creation to the journal. */
export class Slowest {
  readonly #messages: SlowMessage[] = []

  /** Whether a wait is long enough to be told of; of two as long it is the first. */
  isSlow(ms: number): boolean {
    const last = this.#messages.at(-1)
    return this.#messages.length < SLOWEST_MAX || last === undefined || ms > last.ms
  }

  add(message: SlowMessage): void {
    const at = this.#messages.findIndex(({ ms }) => ms < message.ms)
    this.#messages.splice(at < 0 ? this.#messages.length : at, 0, message)
    this.#messages.splice(SLOWEST_MAX)
  }

  /** The slowest first, with lanes renumbered. */
  close(laneOf: readonly number[]): SlowMessage[] {
    return this.#messages.map(message => ({ ...message, lane: laneOf[message.lane] ?? 0 }))
  }
}

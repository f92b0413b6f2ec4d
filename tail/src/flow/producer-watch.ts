import type { StoreLocation } from '@kim/cli-kit'
import { type ProducerState, producerState } from './health.js'
import type { Reporter } from './reporter.js'

/** Says when the producer begins or ceases to give signs of life, each once. */
export class ProducerWatch {
  readonly #location: StoreLocation
  #state: ProducerState['state']

  constructor(location: StoreLocation) {
    this.#location = location
    this.#state = producerState(location).state
  }

  /** As it was when it was last looked at. */
  get state(): ProducerState['state'] {
    return this.#state
  }

  /** Looks again. */
  look(report: Reporter): void {
    const { state, seenMs } = producerState(this.#location)
    const before = this.#state
    this.#state = state
    const since = seenMs === undefined ? undefined : new Date(seenMs).toISOString()
    if (before === 'up' && (state === 'down' || state === 'stale')) report.producer('down', since)
    if (before !== 'up' && state === 'up') report.producer('up', since)
  }
}

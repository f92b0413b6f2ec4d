import type { SinkLog } from './log.js'

/** What lastingly stands in a sink's way besides its lanes: one line when it begins and one when it ends (KS-66). */
export class SinkErrors {
  readonly #sink: string
  readonly #log: SinkLog
  readonly #said: Map<string, string> = new Map()

  constructor(sink: string, log: SinkLog) {
    this.#sink = sink
    this.#log = log
  }

  /** What is in its way now; null if nothing is. */
  get why(): string | null {
    return [...this.#said.values()].join('; ') || null
  }

  begin(what: string, why: string): void {
    if (this.#said.has(what)) return
    this.#said.set(what, why)
    const sink = this.#sink
    this.#log({ level: 'error', code: 'sink_trouble', message: `${sink}: ${why}`, fields: { sink } })
  }

  over(what: string): void {
    if (!this.#said.delete(what)) return
    const sink = this.#sink
    const message = `${sink}: the ${what} works again`
    this.#log({ level: 'info', code: 'sink_trouble_over', message, fields: { sink } })
  }
}

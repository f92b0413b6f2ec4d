import type { Writable } from 'node:stream'

/** What of a stream a log needs; one that takes nothing more keeps what it was given. */
export type LogOutput = Pick<Writable, 'write' | 'writableLength' | 'on'>

/** So much is kept for a reader that is slow; what comes on top is dropped and counted. */
const KEPT_MAX = 262_144

/**
 * Lines for a reader that may be slow, or that nobody is: writing one never waits (CL-16). What a pipe takes at once
 * stands in it when the call returns.
 */
export class LogStream {
  readonly #output: LogOutput
  #dropped = 0

  constructor(output: LogOutput) {
    this.#output = output
    // The service outlives whoever reads its log.
    output.on('error', () => undefined)
    output.on('drain', () => this.#sayDropped())
  }

  write(line: string): void {
    if (this.#output.writableLength + line.length > KEPT_MAX) this.#dropped++
    else this.#output.write(line)
  }

  #sayDropped(): void {
    if (this.#dropped === 0) return
    const entry = {
      level: 'warn',
      time: new Date().toISOString(),
      code: 'log_dropped',
      dropped: this.#dropped,
      msg: `dropped ${this.#dropped} log lines, because stderr was not read`,
    }
    this.#dropped = 0
    this.#output.write(`${JSON.stringify(entry)}\n`)
  }
}

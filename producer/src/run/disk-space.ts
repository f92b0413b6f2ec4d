import { retryDelayMs } from '../journal/journal.js'
import type { RunLog } from './run-log.js'

/** A full disk as a lasting condition: said when it begins and when it ends, and tried again in between. */
export class DiskSpace {
  readonly #log: RunLog
  #tries = 0
  #sinceMs = 0
  #notBeforeMs = Number.NEGATIVE_INFINITY

  constructor(log: RunLog) {
    this.#log = log
  }

  get isFull(): boolean {
    return this.#tries > 0
  }

  /** When what was refused is due again; undefined while nothing is. */
  get retryAtMs(): number | undefined {
    return this.isFull ? this.#notBeforeMs : undefined
  }

  /** False while nothing is to be appended yet. */
  mayTry(monoMs: number): boolean {
    return monoMs >= this.#notBeforeMs
  }

  /** An append found no space. */
  refused(monoMs: number, message: string, hint: string): void {
    this.#tries += 1
    this.#notBeforeMs = monoMs + retryDelayMs(this.#tries)
    if (this.#tries > 1) return
    this.#sinceMs = monoMs
    this.#log({ level: 'error', code: 'disk_full', message, hint })
  }

  /** An append was taken. */
  taken(monoMs: number): void {
    if (!this.isFull) return
    const seconds = Math.round((monoMs - this.#sinceMs) / 1000)
    this.#log({
      level: 'info',
      code: 'disk_free',
      message: `appending works again after ${seconds} s without disk space`,
      fields: { seconds, tries: this.#tries },
    })
    this.#tries = 0
    this.#notBeforeMs = Number.NEGATIVE_INFINITY
  }
}

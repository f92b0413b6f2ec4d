import { KimError } from '@kim/manifest'
import type { ControlServer } from '../control/server.js'
import type { ControlVerbs } from '../control/verbs.js'
import type { RunLog } from './run-log.js'

/** Opens a control socket for these verbs; rejects where that cannot be. */
export type OpenControl = (verbs: ControlVerbs) => Promise<Pick<ControlServer, 'close'>>

/**
 * The control socket of a service. Mail is worth more than being asked about it: without a socket the service goes
 * on, says so once, and tries again whenever it is told to.
 */
export class ControlSocket {
  readonly #open: OpenControl
  readonly #verbs: ControlVerbs
  readonly #log: RunLog
  #server: Pick<ControlServer, 'close'> | undefined
  #isOpening = false
  #isClosed = false
  #isMissing = false

  constructor(open: OpenControl, verbs: ControlVerbs, log: RunLog) {
    this.#open = open
    this.#verbs = verbs
    this.#log = log
  }

  /** Opens it if it is not open. Never rejects. */
  async open(): Promise<void> {
    if (this.#server !== undefined || this.#isOpening || this.#isClosed) return
    this.#isOpening = true
    try {
      const server = await this.#open(this.#verbs)
      if (this.#isClosed) server.close()
      else this.#server = server
      if (this.#isMissing)
        this.#log({ level: 'info', code: 'control_open', message: 'opened the control socket' })
      this.#isMissing = false
    } catch (error) {
      this.#missing(error)
    } finally {
      this.#isOpening = false
    }
  }

  /** Closes it for good. */
  close(): void {
    this.#isClosed = true
    this.#server?.close()
  }

  #missing(error: unknown): void {
    if (this.#isMissing) return
    this.#isMissing = true
    this.#log({
      level: 'warn',
      code: 'control_missing',
      message: `no control socket, so status, poke and shutdown do not work: ${error instanceof Error ? error.message : error}`,
      ...(error instanceof KimError ? { hint: error.hint } : {}),
    })
  }
}

import type { Feed } from './feed.js'
import type { Reporter } from './reporter.js'

/** Says of a journal that is not there that it is waited for, once each time it is gone: silence would be taken for no mail. */
export class StoreWatch {
  readonly #feed: Feed
  readonly #eventsDir: string
  readonly #report: Reporter
  #isThere: boolean

  constructor(feed: Feed, eventsDir: string, report: Reporter) {
    this.#feed = feed
    this.#eventsDir = eventsDir
    this.#report = report
    this.#isThere = feed.exists
  }

  /** Says so if there was none from the beginning; false then. */
  begin(): boolean {
    if (!this.#isThere) this.#say(`there is no journal at ${this.#eventsDir} yet`)
    return this.#isThere
  }

  /** Looks whether it went, or came back. */
  look(): void {
    const { exists } = this.#feed
    if (this.#isThere && !exists) this.#say(`the journal at ${this.#eventsDir} is missing`)
    this.#isThere = exists
  }

  #say(text: string): void {
    this.#report.say('waiting', `${text}; waiting for it`, { reason: 'no_store' })
  }
}

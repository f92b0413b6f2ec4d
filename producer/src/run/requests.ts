import type { Answered, Ask } from '../core/core.js'
import type { Source } from '../source/source.js'
import type { Meters } from './meters.js'

/** What becomes of a request. */
export interface Replies {
  answered(answered: Answered): void
  /** A source never rejects; one that does is our bug and must not be lost in a promise. */
  broken(error: unknown): void
}

/** The requests under way, each of which can be ended. */
export class Requests {
  readonly #source: Source
  readonly #replies: Replies
  readonly #meters: Meters
  readonly #open = new Map<number, AbortController>()

  constructor(source: Source, replies: Replies, meters: Meters) {
    this.#source = source
    this.#replies = replies
    this.#meters = meters
  }

  make(ask: Ask): void {
    const controller = new AbortController()
    this.#open.set(ask.id, controller)
    this.#request(ask, controller.signal).then(
      answered => {
        if (this.#open.delete(ask.id)) this.#replies.answered(answered)
      },
      (error: unknown) => this.#replies.broken(error),
    )
  }

  /** Ends all of them; none of them is answered any more. */
  abort(): void {
    const open = [...this.#open.values()]
    this.#open.clear()
    for (const controller of open) controller.abort()
  }

  async #request(ask: Ask, signal: AbortSignal): Promise<Answered> {
    const { kind, id } = ask
    if (kind === 'page') {
      const seconds = this.#meters.start()
      const answer = await this.#source.page(ask.query, signal)
      this.#meters.polls.observe(seconds())
      return { kind, id, answer }
    }
    if (kind === 'counts') return { kind, id, answer: await this.#source.counts(ask.query, signal) }
    return { kind, id, answer: await this.#source.directory(signal) }
  }
}

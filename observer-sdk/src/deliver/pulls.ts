import { nextTurn, Signal } from '@kim/manifest'
import type { Change } from './change.js'
import { HandOver, type HandOverOptions } from './hand-over.js'

/** What a host tells of itself; when there is news, and when it is over, is told by `Pulls`. */
export type PullsOptions = Omit<HandOverOptions, 'isClosed' | 'unlessClosed' | 'bug' | 'news'> & {
  /** Lets go of everything but the pulls; called once. */
  readonly onEnd: () => void
}

/** The pulls of one consumer, from the open of whatever they are pulled from to its end. */
export class Pulls {
  readonly #handOver: HandOver
  readonly #onEnd: () => void
  readonly #news = new Signal()
  /** Those who wait for the consumer's storage, which may never answer. */
  readonly #askers = new Set<() => void>()
  #closed: Promise<void> | undefined
  #bug: unknown

  constructor({ onEnd, ...options }: PullsOptions) {
    this.#onEnd = onEnd
    this.#handOver = new HandOver({
      ...options,
      isClosed: () => this.isClosed,
      unlessClosed: answer => this.#unlessClosed(answer),
      bug: () => this.#bug,
      news: this.#news,
    })
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /** Finds the consumer's place. */
  open(): Promise<void> {
    return this.#handOver.open()
  }

  /** What is stale by no record's doing comes with the next change. */
  stale(...impact: Parameters<HandOver['stale']>): void {
    this.#handOver.stale(...impact)
  }

  /** The changes, one after another. */
  changes(): AsyncGenerator<Change, void, undefined> {
    let isStopped = false
    const changes = this.#handOver.changes(() => isStopped)
    // A pull that waits for news would hold back the end of the iteration.
    const ending = <A, R>(end: (how: A) => R): ((how: A) => R) => {
      return how => {
        isStopped = true
        this.wake()
        return end(how)
      }
    }
    changes.return = ending(changes.return.bind(changes))
    changes.throw = ending(changes.throw.bind(changes))
    return changes
  }

  /** Wakes whoever waits for more; says whether anybody does. */
  wake(): boolean {
    return this.#news.raise()
  }

  /** A bug of ours ends what it happened in, never its host. */
  fail(bug: unknown): void {
    this.#bug ??= bug
    void this.close()
  }

  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  #unlessClosed<T>(answer: T): Promise<Awaited<T> | undefined> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => resolve(undefined)
      const isDone = (): void => void this.#askers.delete(giveUp)
      this.#askers.add(giveUp)
      Promise.resolve(answer).then(resolve, reject).finally(isDone)
      // Nobody ends a wait that begins after the end: only an answer that is at hand is heard.
      if (this.isClosed) void nextTurn().then(giveUp)
    })
  }

  async #end(): Promise<void> {
    // The promise this returns must be in place before anybody is woken to look at it.
    await Promise.resolve()
    this.#onEnd()
    this.wake()
    for (const give of this.#askers) give()
    // A closed watch is let go at the end of a turn: in the one after it nothing is left.
    await nextTurn()
    await nextTurn()
  }
}

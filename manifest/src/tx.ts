import type { ReadRecord, Tx } from './envelope.js'

/** What one more line decided about the lines of a transaction, in file order. */
export interface TxVerdict<T> {
  /** These will never have an effect. */
  readonly dropped: readonly T[]
  /** These have their effect now. */
  readonly released: readonly T[]
}

/**
 * Holds the records of a transaction until all of them stand, on consecutive non-blank lines of one file.
 * Feed it every non-blank line of one file in order; use a new file's first line only after {@link interrupt}.
 */
export class TxTracker<T> {
  #held: T[] = []
  #tx: Tx | undefined
  #writer: string | undefined

  /** True while a transaction has begun and may still become complete. */
  get isOpen(): boolean {
    return this.#held.length > 0
  }

  /** What waits for the rest of its transaction. */
  get pending(): readonly T[] {
    return this.#held
  }

  /** A line with a valid record. */
  record(record: Pick<ReadRecord, 'tx' | 'writer'>, item: T): TxVerdict<T> {
    const { tx, writer } = record
    if (tx === undefined) return { dropped: this.interrupt(), released: [item] }
    if (tx === 'malformed') return { dropped: [...this.interrupt(), item], released: [] }
    let dropped: readonly T[] = []
    if (!this.#continues(tx, writer)) {
      dropped = this.interrupt()
      if (tx.i !== 1) return { dropped: [...dropped, item], released: [] }
      this.#tx = tx
      this.#writer = writer
    }
    this.#held.push(item)
    return { dropped, released: tx.i === tx.n ? this.#take() : [] }
  }

  /** A line that is no record, or the end of a file that is not the newest: what waits is dropped. */
  interrupt(): readonly T[] {
    return this.#take()
  }

  #continues(tx: Tx, writer: string | undefined): boolean {
    const open = this.#tx
    return (
      open !== undefined &&
      this.#writer === writer &&
      open.id === tx.id &&
      open.n === tx.n &&
      tx.i === this.#held.length + 1
    )
  }

  #take(): T[] {
    const taken = this.#held
    this.#held = []
    this.#tx = undefined
    return taken
  }
}

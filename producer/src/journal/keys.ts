import { isKeyForgettable, type KeyEntry } from '@kim/manifest'

interface Remembered {
  readonly seq: number
  readonly wallMs: number
}

/** The idempotency keys of the journal: which record an action caused the first time it was asked for. */
export class KeyLedger {
  readonly #known: Map<string, Remembered> = new Map()

  get size(): number {
    return this.#known.size
  }

  /** The seq of the record that carries this key. */
  find(key: string): number | undefined {
    return this.#known.get(key)?.seq
  }

  remember(key: string, seq: number, wallMs: number): void {
    if (Number.isNaN(wallMs)) return
    const first = this.#known.get(key)
    // The first record is the answer until it is old enough to be forgotten.
    if (first !== undefined && !isKeyForgettable(wallMs - first.wallMs)) return
    this.#known.set(key, { seq, wallMs })
  }

  /** Forgets what is older than a client may retry. */
  forget(nowMs: number): void {
    for (const [key, { wallMs }] of this.#known) {
      if (isKeyForgettable(nowMs - wallMs)) this.#known.delete(key)
    }
  }

  /** Everything remembered, in the order of seq. */
  entries(): KeyEntry[] {
    return [...this.#known]
      .map(([key, { seq, wallMs }]): KeyEntry => [key, seq, new Date(wallMs).toISOString()])
      .sort((a, b) => a[1] - b[1])
  }
}

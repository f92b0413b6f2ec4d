import { isKeyForgettable, JournalTime, type KeyEntry } from '@kim/manifest'

interface Remembered {
  readonly seq: number
  /** The time the journal had come to when it was used. */
  readonly atMs: number
}

/** The idempotency keys of the journal: which record an action caused the first time it was asked for. */
export class KeyLedger {
  readonly #known: Map<string, Remembered> = new Map()
  readonly #time: JournalTime = new JournalTime()

  get size(): number {
    return this.#known.size
  }

  /** The seq of the record that carries this key. */
  find(key: string): number | undefined {
    return this.#known.get(key)?.seq
  }

  /** Takes in a record that applies. */
  record(seq: number, ts: string | undefined, key: string | undefined): void {
    this.#time.see(ts)
    if (key === undefined) return
    const atMs = this.#time.ms
    const first = this.#known.get(key)
    // The first record is the answer until it is old enough to be forgotten.
    if (Number.isNaN(atMs) || (first !== undefined && !isKeyForgettable(atMs - first.atMs))) return
    this.#known.set(key, { seq, atMs })
  }

  /** Takes over what a checkpoint remembers. */
  restore([key, seq, ts]: KeyEntry): void {
    this.record(seq, ts, key)
  }

  /** Forgets what is older than a client may retry. */
  forget(): void {
    const nowMs = this.#time.ms
    for (const [key, { atMs }] of this.#known) {
      if (isKeyForgettable(nowMs - atMs)) this.#known.delete(key)
    }
  }

  /** Everything remembered, in the order of seq. */
  entries(): KeyEntry[] {
    return [...this.#known]
      .map(([key, { seq, atMs }]): KeyEntry => [key, seq, new Date(atMs).toISOString()])
      .sort((a, b) => a[1] - b[1])
  }
}

import { isKeyForgettable, JournalTime, type KeyEntry } from '@kim/manifest'
import type { RecordEntry } from './entry.js'

/** An idempotency key that a checkpoint should have remembered, if it was young enough when it was written. */
export interface MissingKey {
  readonly key: string
  readonly ts: string
}

/** The idempotency keys of the records so far. */
export class RememberedKeys {
  readonly #keys = new Map<string, { readonly seq: number; readonly ts: string }>()
  readonly #time = new JournalTime()

  /** The time the journal has come to. */
  get nowMs(): number {
    return this.#time.ms
  }

  /** A record that applies; returns the seq of an earlier one that should have kept it from being appended. */
  record({ seq, record: { key, ts } }: RecordEntry): number | undefined {
    this.#time.see(ts)
    if (key === undefined || ts === undefined) return undefined
    const earlier = this.#keys.get(key)
    if (earlier !== undefined && wasDue({ key, ts: earlier.ts }, this.nowMs)) return earlier.seq
    this.#keys.set(key, { seq, ts })
    return undefined
  }

  /** What a checkpoint says of keys whose records are known, and says wrongly. */
  wrongIn(stated: readonly KeyEntry[], isKnown: (seq: number) => boolean): string[] {
    const wrong: string[] = []
    let last = 0
    for (const [key, seq, ts] of stated) {
      if (seq <= last) wrong.push(`key ${key} is out of order`)
      last = seq
      const known = this.#keys.get(key)
      if (isKnown(seq) && (known?.seq !== seq || ts < known.ts)) wrong.push(`key ${key} is not of seq ${seq}`)
    }
    return wrong
  }

  /** Keys of the records so far that a checkpoint does not have and, by now, should have. */
  missingFrom(stated: readonly KeyEntry[]): MissingKey[] {
    const known = new Set(stated.map(([key]) => key))
    const missing: MissingKey[] = []
    for (const [key, { ts }] of this.#keys) {
      if (!known.has(key) && wasDue({ key, ts }, this.nowMs)) missing.push({ key, ts })
    }
    return missing
  }
}

/**
 * Whether a key had to be remembered still when the journal had come to a later time; where a time cannot be read it
 * had not. A writer may remember it for longer: it counts from the time the journal had come to, which is not before
 * the record's own.
 */
export function wasDue({ ts }: MissingKey, laterMs: number): boolean {
  const age = laterMs - Date.parse(ts)
  return Number.isFinite(age) && !isKeyForgettable(age)
}

import type { Switches } from '@kim/producer/internal'

/** What a writer is told on its command line, as JSON. */
export interface Orders {
  readonly store: string
  readonly life: number
  readonly seed: number
  /** Batches whose callers may not have heard the answer: they ask again, with the same keys. */
  readonly retry: readonly string[]
  /** Load everything, then wait for a line on stdin before the store is opened. */
  readonly standby: boolean
  readonly switches: Switches
}

/** What a writer says, one JSON object a line. */
export type Said =
  /** Everything is loaded, the store is not opened yet. */
  | { readonly said: 'ready' }
  | { readonly said: 'open'; readonly head: number }
  /** A keyed batch is about to be asked for. */
  | { readonly said: 'asking'; readonly batch: string }
  /** An append returned. `at` is the monotonic clock, which all processes share, in ms. */
  | {
      readonly said: 'receipt'
      readonly batch: string
      readonly seqs: readonly number[]
      readonly deduped: number
      readonly at: number
    }

/** Milliseconds of the clock that all processes share. */
export const sharedMs = (): number => Number(process.hrtime.bigint() / 1000n) / 1000

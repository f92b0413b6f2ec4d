import type { Actor, JsonObject } from '@kim/manifest'

/** What a caller wants recorded. Everything else of a record is the journal's to give. */
export interface Draft {
  readonly agent: string
  readonly action: string
  readonly item_type: string
  readonly item_id: string
  /** Cut to the limit if it is longer. */
  readonly summary: string
  /** The full state after the change, with its own `schema_version`. */
  readonly payload?: JsonObject | undefined
  readonly event?: string | undefined
  /** Idempotency key: appended at most once in thirty days. */
  readonly key?: string | undefined
  readonly actor?: Actor | undefined
  /** Time since the response that brought the fact was complete. */
  readonly wait_ms?: number | undefined
}

/** Says that a batch is durable: it survives the loss of power. */
export interface Receipt {
  /** One per draft, in their order. */
  readonly seqs: readonly number[]
  /** True where a draft's key was known: nothing was appended, and the seq is the first one's. */
  readonly deduped: readonly boolean[]
}

/** How a batch is to be appended. */
export interface AppendOptions {
  /** All or nothing, for every reader, whatever happens. */
  readonly tx?: boolean | undefined
}

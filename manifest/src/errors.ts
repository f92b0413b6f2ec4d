/** When trying again can help: never, later by itself, or after a person has done something. */
export type Retry = 'never' | 'later' | 'operator'

/** A stable name for what went wrong. */
export type ErrorCode =
  | 'usage'
  | 'config_invalid'
  | 'token_invalid'
  | 'source_mismatch'
  | 'store_held'
  | 'consumer_held'
  | 'producer_failed'
  | 'no_producer'
  | 'not_permitted'
  | 'cursor_invalid'
  | 'observer_closed'
  | 'no_store'
  | 'no_persona'
  | 'no_record'
  | 'no_cursor'
  | 'gap_found'
  | 'record_corrupt'
  | 'exec_failed'
  | 'store_full'
  | 'store_failed'
  | 'store_fenced'
  | 'store_damaged'
  | 'journal_foreign'
  | 'journal_moved'
  | 'journal_closed'
  | 'seq_exhausted'
  | 'record_invalid'
  | 'record_too_large'
  | 'commit_too_large'
  | 'name_invalid'
  | 'service_failed'
  | 'internal'

interface CodeEntry {
  readonly retry: Retry
  readonly exitCode: number
  readonly hint: string
}

/** Every code an error of ours can carry. Codes are stable; a released code never changes its meaning. */
export const errorCodes: Readonly<Record<ErrorCode, CodeEntry>> = {
  usage: { retry: 'never', exitCode: 2, hint: 'see --help' },
  config_invalid: { retry: 'operator', exitCode: 2, hint: 'mend the configuration' },
  token_invalid: { retry: 'operator', exitCode: 2, hint: 'mend or replace the token file' },
  source_mismatch: { retry: 'operator', exitCode: 2, hint: 'use another --store for another source' },
  store_held: { retry: 'later', exitCode: 75, hint: 'another producer holds this store' },
  consumer_held: { retry: 'later', exitCode: 75, hint: 'end that one, or give this one another --consumer' },
  producer_failed: { retry: 'later', exitCode: 1, hint: 'look at the log of the producer, then try again' },
  not_permitted: { retry: 'operator', exitCode: 77, hint: 'check owner and mode of the file' },
  cursor_invalid: { retry: 'operator', exitCode: 2, hint: 'remove the stored cursor to begin at the head' },
  observer_closed: { retry: 'never', exitCode: 1, hint: 'open another observer' },
  no_store: { retry: 'operator', exitCode: 4, hint: 'no journal there; check the path' },
  no_persona: { retry: 'operator', exitCode: 4, hint: 'see: kim-tail personas' },
  no_record: {
    retry: 'never',
    exitCode: 4,
    hint: 'check the name or number; kim-tail status says how far the journal goes',
  },
  no_cursor: { retry: 'operator', exitCode: 1, hint: 'begin with --start new or --start earliest' },
  gap_found: { retry: 'operator', exitCode: 5, hint: 'records are gone; go on without --on-gap fail' },
  record_corrupt: { retry: 'operator', exitCode: 6, hint: 'see: kim-replay verify' },
  exec_failed: { retry: 'later', exitCode: 1, hint: 'the event is kept and comes again; mend the command' },
  store_full: { retry: 'later', exitCode: 1, hint: 'free some space; appending goes on by itself' },
  store_failed: { retry: 'later', exitCode: 1, hint: 'the disk refused; look at the system log' },
  store_fenced: { retry: 'operator', exitCode: 1, hint: 'something else wrote into the store' },
  no_producer: { retry: 'operator', exitCode: 1, hint: 'start one: kim-producer run' },
  store_damaged: { retry: 'operator', exitCode: 1, hint: 'see what `kim-producer journal verify` finds' },
  journal_foreign: { retry: 'operator', exitCode: 2, hint: 'use another --store' },
  journal_moved: { retry: 'later', exitCode: 1, hint: 'derive the records anew from the state, then append' },
  journal_closed: { retry: 'never', exitCode: 1, hint: 'open the journal again' },
  seq_exhausted: { retry: 'operator', exitCode: 1, hint: 'start a new generation directory' },
  record_invalid: { retry: 'never', exitCode: 1, hint: 'the record breaks a rule of the writer' },
  record_too_large: { retry: 'never', exitCode: 1, hint: 'split the record or put its payload into a blob' },
  commit_too_large: { retry: 'never', exitCode: 1, hint: 'commit fewer records at once' },
  name_invalid: { retry: 'never', exitCode: 1, hint: 'no file of a store can have this name' },
  service_failed: { retry: 'operator', exitCode: 1, hint: 'mend what it says, then try again' },
  internal: { retry: 'never', exitCode: 1, hint: 'this is our bug; please report it' },
}

/** What a {@link KimError} can say beyond its code. */
export interface KimErrorOptions {
  readonly cause?: unknown
  readonly hint?: string
}

/** What the world did to us, with what to do about it. */
export class KimError extends Error {
  override readonly name: string = 'KimError'
  readonly code: ErrorCode
  readonly retry: Retry
  readonly exitCode: number
  readonly hint: string

  constructor(code: ErrorCode, message: string, options: KimErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    const entry = errorCodes[code]
    this.code = code
    this.retry = entry.retry
    this.exitCode = entry.exitCode
    this.hint = options.hint ?? entry.hint
  }
}

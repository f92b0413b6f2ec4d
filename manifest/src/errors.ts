/** When trying again can help: never, later by itself, or after a person has done something. */
export type Retry = 'never' | 'later' | 'operator'

interface CodeEntry {
  readonly retry: Retry
  readonly exitCode: number
  readonly hint: string
}

/** Every code an error of ours can carry. Codes are stable; a released code never changes its meaning. */
export const errorCodes = {
  usage: { retry: 'never', exitCode: 2, hint: 'run the command with --help to see its flags' },
  config_invalid: { retry: 'operator', exitCode: 2, hint: 'correct the configuration, then start again' },
  token_invalid: { retry: 'operator', exitCode: 2, hint: 'correct or replace the token file' },
  source_mismatch: { retry: 'operator', exitCode: 2, hint: 'give each source its own store: --store DIR' },
  store_held: {
    retry: 'later',
    exitCode: 75,
    hint: 'stop the producer (kim-producer shutdown) or let the command end; then repeat',
  },
  consumer_held: {
    retry: 'later',
    exitCode: 75,
    hint: 'stop that process, or use another name: --consumer NAME',
  },
  producer_failed: { retry: 'later', exitCode: 1, hint: 'read the log of the producer, then try again' },
  not_permitted: { retry: 'operator', exitCode: 77, hint: 'check the owner and the mode of the file' },
  cursor_invalid: {
    retry: 'operator',
    exitCode: 2,
    hint: 'remove the stored cursor; reading then begins at `from` (default: the head)',
  },
  observer_closed: { retry: 'never', exitCode: 1, hint: 'open a new observer' },
  no_store: { retry: 'operator', exitCode: 4, hint: 'check the path: --store DIR or --events DIR' },
  no_persona: { retry: 'operator', exitCode: 4, hint: 'list the personas: kim-tail personas' },
  no_record: {
    retry: 'never',
    exitCode: 4,
    hint: 'check the name or number; kim-tail status shows the newest record',
  },
  no_cursor: { retry: 'operator', exitCode: 1, hint: 'begin with --start new or --start earliest' },
  gap_found: {
    retry: 'operator',
    exitCode: 5,
    hint: 'records are missing; to continue past the gap, leave out --on-gap fail',
  },
  record_corrupt: {
    retry: 'operator',
    exitCode: 6,
    hint: 'find the damage: kim-replay verify (with the same --events or --store)',
  },
  exec_failed: {
    retry: 'later',
    exitCode: 1,
    hint: 'the event is kept; correct the command, then run kim-tail again',
  },
  store_full: {
    retry: 'later',
    exitCode: 1,
    hint: 'free disk space: a running producer continues; run other commands again',
  },
  store_failed: { retry: 'later', exitCode: 1, hint: 'the disk reported an error; read the system log' },
  store_fenced: {
    retry: 'operator',
    exitCode: 1,
    hint: 'another program wrote into the store; find it and stop it',
  },
  no_producer: { retry: 'operator', exitCode: 1, hint: 'start one: kim-producer run' },
  store_damaged: { retry: 'operator', exitCode: 1, hint: 'find the damage: kim-producer journal verify' },
  journal_foreign: { retry: 'operator', exitCode: 2, hint: 'use another store: --store DIR' },
  journal_moved: {
    retry: 'later',
    exitCode: 1,
    hint: 'compute the records again from the current state, then append them',
  },
  journal_closed: { retry: 'never', exitCode: 1, hint: 'open the journal again' },
  seq_exhausted: {
    retry: 'operator',
    exitCode: 1,
    hint: 'move to a new store (--store DIR), as in spec/compatibility.md',
  },
  record_invalid: { retry: 'never', exitCode: 1, hint: 'correct the record: it breaks a rule of the format' },
  record_too_large: { retry: 'never', exitCode: 1, hint: 'split the record or put its payload into a blob' },
  commit_too_large: { retry: 'never', exitCode: 1, hint: 'commit fewer records at once' },
  name_invalid: {
    retry: 'never',
    exitCode: 1,
    hint: 'choose another name: no file of a store can have this one',
  },
  service_failed: { retry: 'operator', exitCode: 1, hint: 'correct what the message names, then try again' },
  internal: { retry: 'never', exitCode: 1, hint: 'this is a bug in KIM; please report it' },
} as const

/** A stable name for what went wrong. */
export type ErrorCode = keyof typeof errorCodes

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
    const entry: CodeEntry = errorCodes[code]
    this.code = code
    this.retry = entry.retry
    this.exitCode = entry.exitCode
    this.hint = options.hint ?? entry.hint
  }
}

/** A bug of ours: the program has broken its own promise. Never thrown for what the world does to us. */
class InvariantError extends Error {
  override readonly name: string = 'InvariantError'
}

/** Throws if a condition that only our own code can break is broken. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message)
}

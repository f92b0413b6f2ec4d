import type { Draft } from '../journal/draft.js'
import type { Answer, Dialect, Page, PersonaDirectory, UnreadCounts } from '../source/answer.js'
import type { CountsQuery, PageQuery } from '../source/source.js'

/** The two readings of time that decisions rest on. Schedules use `monoMs` alone. */
export interface Now {
  readonly monoMs: number
  readonly wallMs: number
}

/** A request that the core wants made; `id` comes back with its answer. */
export type Ask =
  | { readonly kind: 'page'; readonly id: number; readonly query: PageQuery }
  | { readonly kind: 'counts'; readonly id: number; readonly query: CountsQuery }
  | { readonly kind: 'directory'; readonly id: number }

/** An answer with the request it belongs to. */
export type Answered =
  | { readonly kind: 'page'; readonly id: number; readonly answer: Answer<Page> }
  | { readonly kind: 'counts'; readonly id: number; readonly answer: Answer<UnreadCounts> }
  | { readonly kind: 'directory'; readonly id: number; readonly answer: Answer<PersonaDirectory> }

/** What is to be appended now: at most one commit's worth, in order. */
export interface Commit {
  readonly drafts: readonly Draft[]
}

/**
 * How a commit went. `moved`: records of an earlier refused append are in the journal after all. After both refusals
 * the core derives the next commit from what the journal says then.
 */
export type CommitOutcome = 'durable' | 'full' | 'moved'

/** A line for the log: a lasting condition is said once when it begins and once when it ends. */
export interface CoreNote {
  readonly level: 'info' | 'warn' | 'error'
  readonly code: string
  readonly message: string
  readonly persona?: string | undefined
  readonly hint?: string
  /** Why the server could not be asked; whoever knows which server that is says what to do about it. */
  readonly failure?: string | undefined
  readonly fields?: Readonly<Record<string, string | number | boolean>> | undefined
}

/** The choices of the operator that decide what is asked and what is recorded. */
export interface CoreOptions {
  readonly dialect: Dialect
  /** Undefined: every persona of the directory. */
  readonly personas: readonly string[] | undefined
  readonly waitSeconds: number
  readonly pollSeconds: number
  readonly alertAfter: number
  readonly resyncEvery: number
  readonly rediscoverSeconds: number
  readonly seedAt: number | undefined
  readonly maxReplay: number
  readonly keepContent: boolean
  readonly suppressedAuthors: readonly string[]
  readonly fastPath: boolean
  readonly strandedAlerts: boolean
  readonly urgentAlerts: boolean
}

/** One persona for `status`, health and metrics. */
export interface PersonaStatus {
  readonly persona: string
  readonly state: 'up' | 'down'
  readonly armed: boolean
  readonly watermark: number
  readonly consecutiveFailures: number
  readonly lastPollMs: number | undefined
  readonly lastHealthyMs: number | undefined
  readonly unread: number | undefined
  readonly unreadUrgent: number | undefined
  readonly pinned: boolean
  readonly lastReason: string | undefined
}

/** The whole for `status`, health and metrics. Monotonic times. */
export interface CoreStatus {
  readonly personas: readonly PersonaStatus[]
  readonly counts: 'live' | 'unavailable' | 'off'
  readonly polls: number
  readonly failures: number
  readonly asked: Readonly<Record<Ask['kind'], number>>
  readonly genesis: boolean
}

/**
 * What the producer decides, without doing any of it: which requests to make, and which records their answers
 * become. It holds no timer and makes no call; whoever drives it says what time it is. One turn is: hand in every
 * answer that is in, commit until there is nothing to commit, then make the requests of `next`.
 */
export interface Core {
  /** Requests to make now, and the monotonic time at which to ask again at the latest. */
  next(now: Now): { readonly asks: readonly Ask[]; readonly wakeAtMs: number | undefined }
  answered(answered: Answered, now: Now): void
  /** The next commit, or undefined; the same one until `committed` was told how it went. */
  commit(now: Now): Commit | undefined
  committed(outcome: CommitOutcome, now: Now): void
  /** Makes one persona due, or all of them; says how many are. */
  poke(now: Now, persona?: string): number
  /** Lines for the log since the last call. */
  notes(): readonly CoreNote[]
  /** Set once when nothing can ever come of going on (KS-51): the process exits 2. */
  readonly verdict:
    | { readonly code: 'token_refused' | 'no_such_persona'; readonly message: string }
    | undefined
  status(now: Now): CoreStatus
}

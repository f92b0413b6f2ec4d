/** What the producer decides, without doing any of it. */
import type { Draft } from '../journal/draft.js'
import type {
  Answer,
  CountsQuery,
  Dialect,
  Page,
  PageQuery,
  PersonaDirectory,
  UnreadCounts,
} from '../source/source.js'
import { AccountAlerts } from './alerts.js'
import { Committer, needsGenesis } from './committer.js'
import { type CoreJournal, CoreState } from './core-state.js'
import { CountsPoller } from './counts-long-poll.js'
import { pinOf } from './holes.js'
import { type Inbox, Poller } from './inbox-schedule.js'
import { NameCheck } from './persona-directory.js'

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

/** A line for the log: a lasting condition is logged once when it begins and once when it ends. */
export interface CoreNote {
  readonly level: 'info' | 'warn' | 'error'
  readonly code: string
  readonly message: string
  readonly persona?: string | undefined
  readonly hint?: string
  /** Why the server could not be asked. The driver knows which server that is, and says what to do about it. */
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
  readonly urgentAfterMs: number
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
 * Decides which requests to make, and which records their answers become. It holds no timer and makes no call: the
 * driver says what time it is. In one turn the driver hands in every answer that is in, commits until there is nothing
 * to commit, and then makes the requests of `next`.
 */
export interface Core {
  /** Requests to make now, and the monotonic time at which to ask again at the latest. */
  next(now: Now): { readonly asks: readonly Ask[]; readonly wakeAtMs: number | undefined }
  answered(answered: Answered, now: Now): void
  /** The next commit, or undefined; the same one until `committed` says how it went. */
  commit(now: Now): Commit | undefined
  committed(outcome: CommitOutcome, now: Now): void
  /** Makes one persona due, or all of them; says how many are. */
  poke(now: Now, persona?: string): number
  /** Lines for the log since the last call. */
  notes(): readonly CoreNote[]
  /** Set once if going on can never bring anything (KS-51): the process exits 2. */
  readonly verdict:
    | { readonly code: 'token_refused' | 'no_such_persona'; readonly message: string }
    | undefined
  status(now: Now): CoreStatus
}

/** The decisions of one process over the journal that it just opened. */
export function createCore(options: CoreOptions, journal: CoreJournal): Core {
  return new HiveCore(options, journal)
}

class HiveCore implements Core {
  readonly #state: CoreState
  readonly #polls: Poller
  readonly #counts: CountsPoller
  readonly #directory: Pick<NameCheck, 'start' | 'answered'>
  readonly #account: AccountAlerts
  readonly #committer: Committer
  readonly #asked: Record<Ask['kind'], number> = { page: 0, counts: 0, directory: 0 }
  verdict: Core['verdict']

  constructor(options: CoreOptions, journal: CoreJournal) {
    const state = new CoreState(options, journal)
    this.#state = state
    this.#polls = new Poller(state)
    this.#counts = new CountsPoller(state)
    this.#directory = state.directory ?? new NameCheck(state)
    this.#account = new AccountAlerts(state, this.#counts.firstSeenMs)
    this.#committer = new Committer(state, this.#polls, this.#account)
  }

  next({ monoMs }: Now): { readonly asks: readonly Ask[]; readonly wakeAtMs: number | undefined } {
    const state = this.#state
    state.start(monoMs)
    const wakes = [this.#directory.start(monoMs), this.#counts.start(monoMs), this.#polls.start(monoMs)]
    // One that has passed had its commit in this turn; if the disk was full, it waits for the disk.
    if (this.#account.wakeAtMs > monoMs) wakes.push(this.#account.wakeAtMs)
    if (!state.personas.isSeen) {
      state.personas.look()
      if (state.personas.isSeen) state.areAlertsDirty = true
      wakes.push(monoMs)
    }
    const asks = state.takeAsks()
    for (const { kind } of asks) this.#asked[kind]++
    const wakeAtMs = Math.min(...wakes)
    return { asks, wakeAtMs: wakeAtMs === Number.POSITIVE_INFINITY ? undefined : wakeAtMs }
  }

  answered(answered: Answered, { monoMs }: Now): void {
    this.#state.start(monoMs)
    switch (answered.kind) {
      case 'page':
        this.#polls.answered(answered.id, answered.answer, monoMs)
        break
      case 'counts':
        this.#counts.answered(answered.answer, monoMs)
        break
      case 'directory':
        // If this ends the process, a line about going on would be wrong.
        this.#judge(answered)
        if (this.verdict === undefined) this.#directory.answered(answered.answer, monoMs)
        break
    }
    this.#judge(answered)
  }

  /**
   * KS-51: only in a store that never armed a persona does an answer end the process: if the token is refused, or if
   * no selected inbox exists. Anything else may pass.
   */
  #judge({ answer, kind }: Answered): void {
    const { hasArmed, inboxes, mode } = this.#state
    if (this.verdict !== undefined || answer.ok || kind === 'counts' || hasArmed) return
    // An inbox that was not polled yet may be there. If one answers 401, that may be its own trouble.
    const statuses =
      kind === 'page'
        ? [...inboxes.values()].map(({ polls, lastStatus }) => (polls > 0 ? lastStatus : undefined))
        : // A watcher of a list fetches the directory only for names that may be mistyped.
          [mode === 'all' && answer.failure.status === 401 ? 401 : undefined]
    if (statuses.length === 0 || !statuses.every(status => status === 401 || status === 404)) return
    this.verdict = statuses.includes(401)
      ? { code: 'token_refused', message: 'the server answers 401: it does not accept the token' }
      : { code: 'no_such_persona', message: 'the server answers 404 for every selected persona' }
  }

  commit({ monoMs }: Now): Commit | undefined {
    this.#state.start(monoMs)
    const drafts = this.#committer.next(monoMs)
    return drafts === undefined ? undefined : { drafts }
  }

  committed(outcome: CommitOutcome, { monoMs }: Now): void {
    if (this.#committer.committed(outcome, monoMs)) this.#counts.rowFollowed(monoMs)
  }

  poke({ monoMs }: Now, persona?: string): number {
    this.#state.start(monoMs)
    const due = [...this.#state.inboxes.values()].filter(
      ({ name }) => persona === undefined || name === persona,
    )
    for (const inbox of due) inbox.want(monoMs)
    return due.length
  }

  notes(): readonly CoreNote[] {
    return this.#state.takeNotes()
  }

  status(): CoreStatus {
    const { inboxes, options, table } = this.#state
    const { polls, failures } = this.#polls
    return {
      personas: [...inboxes.values()].map(inbox => this.#personaStatus(inbox)),
      counts: options.fastPath ? (table === undefined ? 'unavailable' : 'live') : 'off',
      polls,
      failures,
      asked: { ...this.#asked },
      genesis: !needsGenesis(this.#state),
    }
  }

  #personaStatus(inbox: Inbox): PersonaStatus {
    const { isArmed, lastHealthyMs, lastPollMs, lastReason, name, persona } = inbox
    const { table } = this.#state
    const unread = this.#state.unreadOf(name)
    return {
      persona: name,
      state: persona.isDown ? 'down' : 'up',
      armed: isArmed,
      watermark: persona.watermark,
      consecutiveFailures: inbox.failures,
      lastPollMs,
      lastHealthyMs,
      unread: unread === 'unknown' ? undefined : unread,
      unreadUrgent: table === undefined ? undefined : (table.get(name)?.unreadUrgent ?? 0),
      pinned: pinOf(persona) !== undefined,
      lastReason,
    }
  }
}

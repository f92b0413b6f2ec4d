/// <reference lib="es2024.string" />
/** What the producer decides, without doing any of it. */
import { shellWord } from '@kim/cli-kit'
import { KimError, registryOfAllCapability } from '@kim/manifest'
import type { Draft } from '../journal/draft.js'
import type { WriterState } from '../journal/entity-reader.js'
import type { OpenHistory } from '../journal/open.js'
import type { Persona, Personas } from '../journal/persona.js'
import type { ServiceLogEntry } from '../journal/store.js'
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
import { pinOf } from './holes.js'
import { DirectoryWatch, NameCheck } from './persona-directory.js'
import type { Arrival } from './poll-pages.js'
import { CountsPoller, Inbox, Poller } from './schedule.js'

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
export interface CoreNote extends ServiceLogEntry {
  /** Why the server could not be asked. The driver knows which server that is, and says what to do about it. */
  readonly failure?: string | undefined
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

/** One persona for `status` and metrics, with the members of `run/health.json`. Its times are monotonic. */
export type PersonaStatus = {
  readonly persona: string
  readonly state: 'up' | 'down'
  readonly armed: boolean
  readonly watermark: number
  readonly pinned: boolean
  readonly consecutive_failures: number
  readonly last_poll?: number | undefined
  readonly last_healthy?: number | undefined
  readonly unread?: number | undefined
  readonly unread_urgent?: number | undefined
  /** Why the last poll failed. */
  readonly reason?: string | undefined
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

/** What the loop needs of a core. */
export type Core = Readonly<Pick<InboxCore, keyof InboxCore>>

/** The decisions of one process over the journal that it just opened. */
export function createCore(options: CoreOptions, journal: CoreJournal): Core {
  return new InboxCore(options, journal)
}

/**
 * Decides which requests to make, and which records their answers become. It holds no timer and makes no call: the
 * driver says what time it is. In one turn the driver hands in every answer that is in, commits until there is nothing
 * to commit, and then makes the requests of `next`.
 */
class InboxCore {
  readonly #state: CoreState
  readonly #polls: Poller
  readonly #counts: CountsPoller
  readonly #directory: Pick<NameCheck, 'start' | 'answered'>
  readonly #account: AccountAlerts
  readonly #committer: Committer
  readonly #asked: Record<Ask['kind'], number> = { page: 0, counts: 0, directory: 0 }
  /** Set once if going on can never bring anything (KS-51): the process exits 2. */
  verdict: { readonly code: 'token_refused' | 'no_such_persona'; readonly message: string } | undefined

  constructor(options: CoreOptions, journal: CoreJournal) {
    const state = new CoreState(options, journal)
    this.#state = state
    this.#polls = new Poller(state)
    this.#counts = new CountsPoller(state)
    this.#directory = state.directory ?? new NameCheck(state)
    this.#account = new AccountAlerts(state, this.#counts.firstSeenMs)
    this.#committer = new Committer(state, this.#polls, this.#account)
  }

  /** Requests to make now, and the monotonic time at which to ask again at the latest. */
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

  /** The next commit, or undefined; the same one until `committed` says how it went. */
  commit({ monoMs }: Now): Commit | undefined {
    this.#state.start(monoMs)
    const drafts = this.#committer.next(monoMs)
    return drafts === undefined ? undefined : { drafts }
  }

  committed(outcome: CommitOutcome, { monoMs }: Now): void {
    if (this.#committer.committed(outcome, monoMs)) this.#counts.rowFollowed(monoMs)
  }

  /** Makes one persona due, or all of them; says how many are. */
  poke({ monoMs }: Now, persona?: string): number {
    this.#state.start(monoMs)
    const due = [...this.#state.inboxes.values()].filter(
      ({ name }) => persona === undefined || name === persona,
    )
    for (const inbox of due) inbox.want(monoMs)
    return due.length
  }

  /** Lines for the log since the last call. */
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
      pinned: pinOf(persona) !== undefined,
      consecutive_failures: inbox.failures,
      last_poll: lastPollMs,
      last_healthy: lastHealthyMs,
      unread: unread === 'unknown' ? undefined : unread,
      unread_urgent: table === undefined ? undefined : (table.get(name)?.unreadUrgent ?? 0),
      reason: lastReason,
    }
  }
}

/** What the core needs of an open journal. */
export interface CoreJournal {
  readonly state: Pick<WriterState, 'personas' | 'capabilities'>
  readonly history: Pick<OpenHistory, 'isWhole' | 'holes'>
}

/** The counts of the account; undefined while they are not available. */
export type CountsTable = UnreadCounts['byPersona'] | undefined

/** So many names that are none are logged in the life of a process. */
const REFUSED_MAX = 100

/** What may be asked, before it has a number. */
type AskBody = Ask extends infer One ? (One extends Ask ? Omit<One, 'id'> : never) : never

/** What the parts of the core share: what the journal says, which inboxes are watched, what the server counted. */
export class CoreState {
  readonly options: CoreOptions
  readonly suppressed: ReadonlySet<string>
  readonly capabilities: ReadonlySet<string>
  readonly personas: Personas
  readonly inboxes: Map<string, Inbox> = new Map()
  readonly directory: DirectoryWatch | undefined
  readonly mode: 'all' | 'list'
  /** Of a list: inboxes without a message on the server or in the journal, so that they may not exist. */
  readonly unproven: Set<string> = new Set()
  table: CountsTable
  /** Equal counts may hide mail that came in: no token would show it (KS-54). */
  hasPlainCounts: boolean
  /** An answer for counts came in, whatever it was. */
  hasHeardCounts = false
  /** Personas about which something may have to be recorded. */
  readonly dirty: Set<string> = new Set()
  /** The two account-wide alerts may have changed. */
  areAlertsDirty = true
  isGenesisDirty = true
  /** The newest record when this process began. */
  readonly #startSeq: number
  readonly #hadRecords: boolean
  readonly #isDamaged: boolean
  readonly #asks: Ask[] = []
  readonly #notes: CoreNote[] = []
  /** Lasting conditions that were logged and did not end yet. */
  readonly #said: Set<string> = new Set()
  #refused = 0
  #ids = 0
  #isStarted = false

  constructor(options: CoreOptions, { history, state }: CoreJournal) {
    this.options = options
    this.hasPlainCounts = options.dialect === 'local'
    this.suppressed = new Set(options.suppressedAuthors)
    this.capabilities = state.capabilities
    this.personas = state.personas
    this.#startSeq = this.personas.headSeq
    this.mode = options.personas === undefined ? 'all' : 'list'
    this.directory = this.mode === 'all' ? new DirectoryWatch(this) : undefined
    this.#isDamaged = !history.isWhole || history.holes.length > 0
    this.#hadRecords = [...this.personas].some(({ record }) => record !== undefined)
    const [seeded] = options.personas ?? []
    if (options.seedAt !== undefined && seeded !== undefined) this.#checkSeed(seeded, options.seedAt)
  }

  /** Some persona had a record when this process began, or was armed since. */
  get hasArmed(): boolean {
    return this.#hadRecords || [...this.inboxes.values()].some(({ isArmed }) => isArmed)
  }

  /** The personas known from the start: those of the list, or those of the journal that were watched. */
  start(nowMs: number): void {
    if (this.#isStarted) return
    this.#isStarted = true
    const known = [...this.personas].flatMap(({ name, record }) => (record?.watched === true ? [name] : []))
    if (this.options.personas === undefined) for (const name of known) this.watch(name, nowMs, true)
    else {
      // Trimmed, without blanks and exact repeats (KS-67).
      const names = new Set(this.options.personas.map(name => name.trim()).filter(name => name !== ''))
      for (const name of names) {
        if (name.isWellFormed()) this.watch(name, nowMs, true)
        else this.refuse(name.toWellFormed())
      }
      for (const name of known) if (!this.inboxes.has(name)) this.dirty.add(name)
    }
  }

  /** Watches an inbox from now on; does nothing if it is watched. */
  watch(name: string, nowMs: number, isFromStart: boolean): void {
    if (this.inboxes.has(name)) return
    const persona = this.personas.take(name)
    const isAdded =
      this.mode === 'all' &&
      persona.record === undefined &&
      // One that failed until it was announced as missing left its alert behind.
      !persona.alerts.has('unreachable') &&
      this.capabilities.has(registryOfAllCapability) &&
      !(this.#isDamaged && isFromStart)
    const place = { rank: this.inboxes.size, nowMs, isFromStart, isAdded, startSeq: this.#startSeq }
    this.inboxes.set(name, new Inbox(persona, place))
    this.isGenesisDirty = true
    this.dirty.add(name)
  }

  /** How a persona comes in with its next poll (section 6). */
  arrivalOf({ isAdded, isFromStart, persona }: Inbox): Arrival {
    if (persona.record !== undefined || isAdded) return 'known'
    // A first contact that was cut off goes on: what it left says nothing about what lies below it.
    if (this.options.seedAt !== undefined && persona.messages.size === 0) return 'seed'
    return this.#isDamaged && isFromStart ? 'damaged' : 'first-contact'
  }

  /** The unread mail that the counts give a persona now; `unknown` if there are none. */
  unreadOf(persona: string): number | 'unknown' {
    return this.table === undefined ? 'unknown' : (this.table.get(persona)?.unread ?? 0)
  }

  /** True if all personas are watched and the directory does not list this one (KS-62). */
  isUnlisted(persona: string): boolean {
    return this.directory?.entries?.has(persona) === false
  }

  /** Puts a request where `next` finds it. */
  ask(body: AskBody): number {
    const id = ++this.#ids
    this.#asks.push({ ...body, id } as Ask)
    return id
  }

  takeAsks(): readonly Ask[] {
    return this.#asks.splice(0)
  }

  note(note: CoreNote): void {
    this.#notes.push(note)
  }

  takeNotes(): readonly CoreNote[] {
    return this.#notes.splice(0)
  }

  /** Logs a lasting condition once when it begins and once when it ends (KS-66). */
  noteChange(code: string, isOn: boolean, begins: CoreNote, ends: CoreNote): void {
    if (isOn === this.#said.has(code)) return
    if (isOn) this.#said.add(code)
    else this.#said.delete(code)
    this.note(isOn ? begins : ends)
  }

  /** One line for each invalid name, up to a hundred (KS-11, KS-13, KS-70). */
  refuse(name: string): void {
    const code = `refused:${name}`
    if (this.#refused > REFUSED_MAX || this.#said.has(code)) return
    this.#said.add(code)
    const isLast = ++this.#refused > REFUSED_MAX
    this.note({
      level: 'warn',
      code: 'persona_refused',
      message: isLast
        ? 'ignored more personas with invalid names; further ones are not logged'
        : 'ignored a persona with an invalid name',
      fields: { name: name.slice(0, 100) },
    })
  }

  /** A seed that the record keeps already, with everything known above it, has no effect any more (KS-35). */
  #checkSeed(name: string, seedAt: number): void {
    const persona = this.personas.find(name.trim())
    if (persona?.record === undefined) return
    if (persona.record.seeded !== seedAt) assertSeed(persona, seedAt)
    else if (seedAt <= persona.watermark) {
      const message = `--seed-at ${seedAt} has no effect any more: the journal is past this id`
      this.note({ level: 'warn', code: 'flag_ignored', persona: name, message })
    }
  }
}

/** Refuses a seed that would take back what is in the journal already (KS-35). */
function assertSeed({ isCountOwed, name, record, watermark }: Persona, seedAt: number): void {
  if (isCountOwed) {
    throw new KimError(
      'config_invalid',
      `cannot apply --seed-at: the producer has not finished the first poll or the replay cap of ${name}`,
      {
        hint: `start without --seed-at and let the first poll of ${name} finish (kim-producer status no longer says "a gap is being filled"); then stop and use --seed-at`,
      },
    )
  }
  const told = Math.max(watermark, record?.seeded ?? 0)
  if (seedAt > told) return
  throw new KimError(
    'config_invalid',
    `cannot apply --seed-at ${seedAt}: for ${name}, mail up to message ${told} is already recorded or covered by an earlier seed`,
    {
      hint: `leave out --seed-at; to print the mail after that id: kim-tail --persona ${shellWord(name)} --after-id ${seedAt} (with the same --store)`,
    },
  )
}

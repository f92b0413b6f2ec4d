/** The loop of the service: answers go to the core, its commits to the journal, its requests to the source. */
import { shellWord } from '@kim/cli-kit'
import {
  type AccountAlertKind,
  isAccountAlertKind,
  isJsonObject,
  type JsonObject,
  KimError,
} from '@kim/manifest'
import { accountEnd, accountReason, listOf, namesIn } from '../core/alerts.js'
import type { Answered, Ask, Core, Now } from '../core/core.js'
import type { Clock, Timers, Turn } from '../effects/system.js'
import { isNoSpace } from '../journal/disk-errors.js'
import type { Draft } from '../journal/draft.js'
import { type OpenJournal, retryDelayMs } from '../journal/journal.js'
import { type FailedServer, remedyOf, type Source } from '../source/source.js'
import { Meters } from './metrics.js'
import type { RunEntry, RunLog } from './run-log.js'

/** What a driver drives, and with what. */
export interface DriverParts {
  readonly journal: OpenJournal
  readonly source: Source
  readonly core: Core
  readonly clock: Clock
  readonly turn: Turn
  readonly timers: Timers
  readonly log: RunLog
  readonly meters?: Meters | undefined
  /** The note that comes before anything that the core decides. */
  readonly opening: Draft
  /** What is appended last, by the reason for the end. */
  readonly closing: (reason: string) => Draft
}

/** Why a driver ended. Only `failed` leaves no closing note behind. */
export type Ending =
  | { readonly kind: 'stopped'; readonly reason: string }
  | { readonly kind: 'verdict'; readonly verdict: NonNullable<Core['verdict']> }
  | { readonly kind: 'failed'; readonly error: unknown }

/** How long one turn may commit before timers, signals and the control socket get theirs. */
const COMMIT_SLICE_MS = 20
/** How long an end may go on committing what is in already. */
const LAST_COMMITS_MS = 500

/**
 * Moves what the core decides: its requests to the source, its commits to the journal, and the outcome of both
 * back. Between two turns there are one timer and the requests that the server holds; nothing polls.
 */
export class Driver {
  readonly #parts: DriverParts
  /** The requests under way, each of which can be ended. */
  readonly #requests = new Map<number, AbortController>()
  readonly #space: DiskSpace
  readonly #meters: Meters
  readonly #alerts: AlertLines
  readonly #done: (ending: Ending) => void
  /** Settles once; it never rejects. */
  readonly ended: Promise<Ending>
  #answers: Answered[] = []
  #opening: Draft | undefined
  #turns = 0
  #isScheduled = false
  #isEnded = false
  #stopTimer: () => void = () => undefined

  constructor(parts: DriverParts) {
    this.#parts = parts
    this.#opening = parts.opening
    this.#space = new DiskSpace(parts.log)
    this.#meters = parts.meters ?? new Meters()
    this.#alerts = new AlertLines(parts.source)
    let done: (ending: Ending) => void = () => undefined
    this.ended = new Promise(resolve => {
      done = resolve
    })
    this.#done = done
  }

  /** How many turns it has made: one that makes none any more hangs. */
  get turns(): number {
    return this.#turns
  }

  /** True while a full disk keeps the journal from going on. */
  get isDiskFull(): boolean {
    return this.#space.isFull
  }

  /** Begins, and later does what was put off and can be done now. */
  wake(): void {
    this.#schedule()
  }

  /** Makes one persona due, or all of them; says how many are. */
  poke(persona?: string): number {
    if (this.#isEnded) return 0
    const due = this.#parts.core.poke(this.#now(), persona)
    this.#schedule()
    return due
  }

  /** Ends now: commits what is in, says in the journal that it stopped, and asks nothing more. */
  stop(reason: string): void {
    if (this.#isEnded) return
    try {
      this.#close(reason)
      this.#end({ kind: 'stopped', reason })
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Answers of one turn of the event loop share a write, so the turn comes after all of them. */
  #schedule(): void {
    if (this.#isScheduled || this.#isEnded) return
    this.#isScheduled = true
    this.#parts.turn.soon(() => {
      this.#isScheduled = false
      if (this.#isEnded) return
      try {
        this.#turn()
      } catch (error) {
        this.#fail(error)
      }
    })
  }

  #turn(): void {
    const { core, journal, log, timers } = this.#parts
    if (journal.failure !== undefined) throw journal.failure
    this.#stopTimer()
    const isQuiet = this.#handIn() === 0
    const goesOn = this.#commit(COMMIT_SLICE_MS)
    this.#say()
    for (const entry of this.#alerts.due(this.#now().monoMs)) log(entry)
    const { verdict } = core
    if (verdict !== undefined) {
      this.#close(verdict.code)
      this.#end({ kind: 'verdict', verdict })
      return
    }
    const { asks, wakeAtMs } = core.next(this.#now())
    this.#turns += 1
    for (const ask of asks) this.#request(ask)
    this.#say()
    // What follows a roll waits while there is mail.
    const isIdle = isQuiet && !goesOn && !this.#space.isFull
    if (goesOn || (isIdle && journal.upkeep())) {
      this.#schedule()
      return
    }
    const nextMs = Math.min(
      wakeAtMs ?? Number.POSITIVE_INFINITY,
      this.#space.retryAtMs ?? Number.POSITIVE_INFINITY,
      this.#alerts.dueMs,
    )
    if (nextMs === Number.POSITIVE_INFINITY) return
    this.#stopTimer = timers.after(nextMs - this.#now().monoMs, () => this.#schedule())
  }

  #request(ask: Ask): void {
    const controller = new AbortController()
    this.#requests.set(ask.id, controller)
    this.#answer(ask, controller.signal).then(
      answered => {
        if (!this.#requests.delete(ask.id)) return
        this.#answers.push(answered)
        this.#schedule()
      },
      // A source never rejects; one that does is our bug and must not be lost in a promise.
      (error: unknown) => this.#fail(error),
    )
  }

  async #answer(ask: Ask, signal: AbortSignal): Promise<Answered> {
    const { source } = this.#parts
    const { kind, id } = ask
    if (kind === 'counts') return { kind, id, answer: await source.counts(ask.query, signal) }
    if (kind === 'directory') return { kind, id, answer: await source.directory(signal) }
    const seconds = this.#meters.start()
    const answer = await source.page(ask.query, signal)
    this.#meters.polls.observe(seconds())
    return { kind, id, answer }
  }

  /** Ends all requests; none of them is answered any more. */
  #abort(): void {
    const controllers = [...this.#requests.values()]
    this.#requests.clear()
    for (const controller of controllers) controller.abort()
  }

  /** Hands in every answer that is in; says how many were. */
  #handIn(): number {
    const answers = this.#answers
    this.#answers = []
    for (const answered of answers) this.#parts.core.answered(answered, this.#now())
    return answers.length
  }

  /** Commits until nothing is left, the disk is full or the slice is over; true if it is the slice. */
  #commit(sliceMs: number): boolean {
    const { core, journal, log } = this.#parts
    const untilMs = this.#now().monoMs + sliceMs
    for (;;) {
      const now = this.#now()
      if (!this.#space.mayTry(now.monoMs)) return false
      if (!this.#open(now)) return false
      const commit = core.commit(now)
      if (commit === undefined) return false
      const seconds = this.#meters.start()
      try {
        journal.append(commit.drafts)
      } catch (error) {
        if (error instanceof KimError && error.code === 'journal_moved') {
          core.committed('moved', this.#now())
          continue
        }
        if (!isNoSpace(error)) throw error
        this.#full(error)
        core.committed('full', this.#now())
        return false
      }
      this.#meters.appended(commit.drafts, seconds())
      this.#space.taken(now.monoMs)
      core.committed('durable', this.#now())
      for (const entry of this.#alerts.of(commit.drafts, this.#now().monoMs)) log(entry)
      if (this.#now().monoMs >= untilMs) return true
    }
  }

  /** Appends the opening note, if it is not in the journal; false while there is no space for it. */
  #open(now: Now): boolean {
    if (this.#opening === undefined) return true
    try {
      this.#append(this.#opening)
    } catch (error) {
      if (!isNoSpace(error)) throw error
      this.#full(error)
      return false
    }
    this.#opening = undefined
    this.#space.taken(now.monoMs)
    return true
  }

  /** A note of its own depends on nothing that an earlier write may have left standing after all. */
  #append(note: Draft): void {
    const { journal } = this.#parts
    journal.settle()
    const seconds = this.#meters.start()
    journal.append([note])
    this.#meters.appended([note], seconds())
  }

  #full(error: KimError): void {
    this.#space.refused(this.#now().monoMs, error.message, error.hint)
  }

  #say(): void {
    const { core, log, source } = this.#parts
    for (const { failure, ...note } of core.notes()) {
      const hint = failure === undefined ? undefined : remedyOf(failure, source)
      log(hint === undefined ? note : { ...note, hint })
    }
  }

  /** The last commits of a life that ends of its own will. */
  #close(reason: string): void {
    const { closing, log } = this.#parts
    this.#handIn()
    this.#commit(LAST_COMMITS_MS)
    this.#say()
    // A journal without an opening note has nothing to close.
    if (this.#opening !== undefined) return
    try {
      this.#append(closing(reason))
    } catch (error) {
      if (!isNoSpace(error)) throw error
      log({
        level: 'warn',
        code: 'stopped_unsaid',
        message: 'cannot write the note that this producer stopped: the disk is full',
        hint: 'recorded mail is safe',
      })
    }
  }

  /** A journal that failed says why: what refuses afterwards says only that it did. */
  #fail(error: unknown): void {
    if (!this.#isEnded) this.#end({ kind: 'failed', error: this.#parts.journal.failure ?? error })
  }

  #end(ending: Ending): void {
    this.#isEnded = true
    this.#stopTimer()
    this.#abort()
    for (const entry of this.#alerts.due(Number.POSITIVE_INFINITY)) this.#parts.log(entry)
    this.#done(ending)
  }

  #now(): Now {
    const { clock } = this.#parts
    return { monoMs: clock.monoMs(), wallMs: clock.wallMs() }
  }
}

/** A full disk as a lasting condition: logged when it begins and when it ends, and tried again in between. */
class DiskSpace {
  readonly #log: RunLog
  #tries = 0
  #sinceMs = 0
  #notBeforeMs = Number.NEGATIVE_INFINITY

  constructor(log: RunLog) {
    this.#log = log
  }

  get isFull(): boolean {
    return this.#tries > 0
  }

  /** When what was refused is due again; undefined while nothing is. */
  get retryAtMs(): number | undefined {
    return this.isFull ? this.#notBeforeMs : undefined
  }

  /** False while nothing is to be appended yet. */
  mayTry(monoMs: number): boolean {
    return monoMs >= this.#notBeforeMs
  }

  /** An append found no space. */
  refused(monoMs: number, message: string, hint: string): void {
    this.#tries += 1
    this.#notBeforeMs = monoMs + retryDelayMs(this.#tries)
    if (this.#tries > 1) return
    this.#sinceMs = monoMs
    this.#log({ level: 'error', code: 'disk_full', message, hint })
  }

  /** An append was taken. */
  taken(monoMs: number): void {
    if (!this.isFull) return
    const seconds = Math.round((monoMs - this.#sinceMs) / 1000)
    this.#log({
      level: 'info',
      code: 'disk_free',
      message: `appending works again after ${seconds} s without disk space`,
      fields: { seconds, tries: this.#tries },
    })
    this.#tries = 0
    this.#notBeforeMs = Number.NEGATIVE_INFINITY
  }
}

/** A line about inboxes that went down or came up waits this long for others (KS-96). */
const GATHER_MS_MIN = 5000
const GATHER_MS_MAX = 60_000

/**
 * The log lines about alerts that a commit opened or cleared, and about mail that is not announced. The journal has an
 * account-wide alert, and an outage, once for each inbox that it concerns; the log has it once (KS-91, KS-96).
 */
export class AlertLines {
  readonly #asked: FailedServer
  /** Inboxes that went down in the life of this process, and since when one is. */
  readonly #down = new Set<string>()
  #downSinceMs = 0
  /** Inboxes that went down, by the reason, or came up again (`undefined`), and that no line names yet. */
  #gathered = new Map<string | undefined, string[]>()
  /** When the gathered ones are due. */
  dueMs: number = Number.POSITIVE_INFINITY
  /** The names of each account-wide alert as the log has them; undefined for one that this process did not log yet. */
  readonly #said = new Map<AccountAlertKind, ReadonlySet<string>>()

  constructor(asked: FailedServer) {
    this.#asked = asked
  }

  /** What these drafts have to say, in their order. */
  of(drafts: readonly Draft[], nowMs: number): RunEntry[] {
    return drafts.flatMap(draft => {
      const payload = isJsonObject(draft.payload) ? draft.payload : {}
      if (draft.event === 'replay_capped') return [capped(draft, payload)]
      if (draft.item_type !== 'alert') return []
      const { kind } = payload
      if (isAccountAlertKind(kind)) return this.#ofAccount(draft, payload, kind)
      const isOver = payload['status'] === 'cleared'
      // An open one that goes on is no news.
      if (!isOver && draft.event !== 'alert') return []
      if (kind === 'unreachable') return this.#gather(draft.agent, isOver ? undefined : draft.summary, nowMs)
      const { agent, summary } = draft
      return [this.#line([agent], `${agent}: ${summary}`, String(kind), isOver ? undefined : summary)]
    })
  }

  /** The lines about inboxes that went down or came up, if they are due. */
  due(nowMs: number): RunEntry[] {
    if (nowMs < this.dueMs) return []
    const gathered = [...this.#gathered]
    this.#gathered = new Map()
    this.dueMs = Number.POSITIVE_INFINITY
    return gathered.map(([reason, names]) => {
      const are = names.length === 1 ? `${listOf(names)} is` : `${names.length} inboxes are`
      const which = names.length === 1 ? '' : `: ${listOf(names)}`
      const text = reason === undefined ? `${are} up again${which}` : `${are} down (${reason})${which}`
      return this.#line(names, text, 'unreachable', reason)
    })
  }

  #gather(name: string, reason: string | undefined, nowMs: number): RunEntry[] {
    // One that came up and is down again: its lines keep their order.
    const earlier = reason !== undefined && this.#gathered.get(undefined)?.includes(name) === true
    const lines = earlier ? this.due(Number.POSITIVE_INFINITY) : []
    if (this.#down.size === 0) this.#downSinceMs = nowMs
    if (reason === undefined) this.#down.delete(name)
    else this.#down.add(name)
    const lastedMs = nowMs - this.#downSinceMs
    if (this.#gathered.size === 0)
      this.dueMs = nowMs + Math.min(Math.max(GATHER_MS_MIN, lastedMs), GATHER_MS_MAX)
    this.#gathered.set(reason, [...(this.#gathered.get(reason) ?? []), name])
    return lines
  }

  /** Without a reason it is the end of an alert. */
  #line(names: readonly string[], message: string, kind: string, reason: string | undefined): RunEntry {
    const about =
      names.length === 1
        ? { persona: names[0], message, fields: { kind } }
        : { message, fields: { kind, inboxes: names.length } }
    if (reason === undefined) return { level: 'info', code: 'alert_ended', ...about }
    const hint = remedyOf(reason, this.#asked)
    return { level: 'warn', code: 'alert', ...about, ...(hint === undefined ? {} : { hint }) }
  }

  #ofAccount({ event }: Draft, payload: JsonObject, kind: AccountAlertKind): RunEntry[] {
    const before = this.#said.get(kind)
    const listed = namesIn(payload, kind).filter(name => typeof name === 'string')
    const holds = new Set(listed)
    if (payload['status'] === 'cleared') {
      this.#said.set(kind, new Set())
      const gone = [...(before ?? listed)]
      // Every inbox that got the alert gets its end.
      return before?.size === 0 ? [] : [ended(kind, gone)]
    }
    this.#said.set(kind, holds)
    // One that stood before this process began was said then.
    if (before === undefined && event !== 'alert') return []
    const come = listed.filter(name => before?.has(name) !== true)
    const gone = [...(before ?? [])].filter(name => !holds.has(name))
    // The reason of the alert says more of each name, but names them all.
    const isWhole = kind === 'stranded-mail' && come.length === listed.length
    const text = isWhole ? String(payload['reason']) : accountReason(kind, come)
    return [
      ...(come.length > 0 ? [began(kind, come, text)] : []),
      ...(gone.length > 0 ? [ended(kind, gone)] : []),
    ]
  }
}

/** KS-34: what a cap silenced is in the journal, and no sink announces it, now or later. */
function capped({ agent: persona, summary: message }: Draft, { dropped }: JsonObject): RunEntry {
  return {
    level: 'warn',
    code: 'replay_capped',
    persona,
    message,
    hint: `more messages were waiting than --max-replay allows, so they stay unannounced; print them: kim-tail -p ${shellWord(persona.replaceAll(',', '\\,'))} --since 1d (with the --store of this producer); to announce more the next time, raise --max-replay`,
    ...(typeof dropped === 'number' ? { fields: { dropped } } : {}),
  }
}

function began(kind: AccountAlertKind, names: readonly string[], message: string): RunEntry {
  return {
    level: 'warn',
    code: 'alert',
    message,
    hint:
      kind === 'stranded-mail'
        ? 'start an agent that reads NAME; kim-tail -p NAME (with the --store of this producer) shows who wrote. If the server does not list a name, the author mistyped it, and the journal has no mail for it: find the author at the server and say the right name'
        : 'wake its agent; kim-tail -p NAME (with the --store of this producer) shows the mail',
    fields: { kind, names: names.length },
  }
}

function ended(kind: AccountAlertKind, names: readonly string[]): RunEntry {
  return {
    level: 'info',
    code: 'alert_ended',
    message: accountEnd(kind, names),
    fields: { kind, names: names.length },
  }
}

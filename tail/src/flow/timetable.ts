/** When a command is done and why, and what is due by the clock until then. */
import { SIGNAL_EXIT, type StoreLocation } from '@kim/cli-kit'
import type { Signal, Timers } from '@kim/manifest'
import type { Plan } from '../plan.js'
import { ProducerWatch } from './health.js'
import type { Printer } from './printer.js'

/** Why a command ended. `met`: all that was asked for came. */
export type End =
  | 'met'
  | 'timeout'
  | 'deadline'
  | 'until'
  | 'caught_up'
  | 'parent_gone'
  | 'consumer_lost'
  | 'sigterm'
  | 'sigint'
  | 'sighup'

/** Longer timers wrap around in Node and fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1

/** Why a command ended whose signal was aborted for this reason: a process signal, or the deadline. */
export function endOf(reason: unknown): 'deadline' | 'sighup' | 'sigint' | 'sigterm' {
  if (reason === 'deadline') return reason
  if (reason === 'SIGHUP') return 'sighup'
  return reason === 'SIGINT' ? 'sigint' : 'sigterm'
}

/** Watches the conditions under which a command is done by itself. The caller passes the time. */
export class StopWatch {
  readonly #plan: Pick<Plan, 'count' | 'untilMatch' | 'timeoutMs' | 'deadlineMs'>
  readonly #startedMs: number
  /** When the last record came; undefined before `listen`. */
  #lastMs: number | undefined
  #printed = 0

  constructor(plan: Pick<Plan, 'count' | 'untilMatch' | 'timeoutMs' | 'deadlineMs'>, nowMs: number) {
    this.#plan = plan
    this.#startedMs = nowMs
  }

  /** All existing records were read: from now on, silence counts. */
  listen(nowMs: number): void {
    this.#lastMs ??= nowMs
  }

  /** Whether this is the record that the command waits for. */
  isAwaited(text: () => string): boolean {
    return this.#plan.untilMatch?.test(text()) === true
  }

  /** A record came, printed or not. */
  onCame(nowMs: number): void {
    if (this.#lastMs !== undefined) this.#lastMs = nowMs
  }

  /** A record was printed; true if it was the last one wanted. */
  onPrinted(text: () => string, nowMs: number): boolean {
    this.#printed += 1
    this.onCame(nowMs)
    const { count } = this.#plan
    return (count !== undefined && this.#printed >= count) || this.isAwaited(text)
  }

  /** True if no record is wanted at all. */
  get isDone(): boolean {
    return this.#plan.count === 0
  }

  /** The condition that time has met, if any. */
  due(nowMs: number): 'timeout' | 'deadline' | undefined {
    if (nowMs >= this.#deadlineAtMs) return 'deadline'
    return nowMs >= this.#timeoutAtMs ? 'timeout' : undefined
  }

  /** When to ask again; undefined for never. */
  get dueAtMs(): number | undefined {
    const atMs = Math.min(this.#deadlineAtMs, this.#timeoutAtMs)
    return Number.isFinite(atMs) ? atMs : undefined
  }

  get #deadlineAtMs(): number {
    return this.#startedMs + (this.#plan.deadlineMs ?? Number.POSITIVE_INFINITY)
  }

  get #timeoutAtMs(): number {
    return (this.#lastMs ?? Number.POSITIVE_INFINITY) + (this.#plan.timeoutMs ?? Number.POSITIVE_INFINITY)
  }

  /**
   * A signal that ends a search of existing records: by a process signal, or at the deadline, which the records on the
   * way do not put off. Its reason says why the command ended. To be taken before `listen`.
   */
  lookEnd(signal: AbortSignal): AbortSignal {
    const delayMs = Math.max(0, this.#deadlineAtMs - performance.now())
    // No search takes that long.
    if (delayMs > TIMER_MS_MAX) return signal
    const deadline = new AbortController()
    setTimeout(() => deadline.abort('deadline'), delayMs).unref()
    return AbortSignal.any([signal, deadline.signal])
  }

  /** What the process exits with: 0 if what was asked for came, 3 if the command waited in vain. */
  exitCode(reason: Exclude<End, 'consumer_lost'>, isAgent = false): number {
    const { count, untilMatch } = this.#plan
    switch (reason) {
      case 'sighup':
      case 'sigint':
      case 'sigterm':
        // A harness that ends its child shows anything but 0 as a failure.
        return isAgent ? 0 : (SIGNAL_EXIT[reason.toUpperCase()] ?? 1)
      case 'met':
      case 'parent_gone':
        return 0
      case 'caught_up':
        return untilMatch === undefined ? 0 : 3
      case 'timeout':
      case 'deadline':
      case 'until':
        return count !== undefined || untilMatch !== undefined || this.#printed === 0 ? 3 : 0
      default:
        return reason satisfies never
    }
  }
}

/** Between two checks that the parent still runs: idling costs next to nothing. */
const PARENT_MS = 5_000
/** Between two looks at the producer's sign of life. */
const PRODUCER_MS = 60_000

/** Something that is due at a time. */
export interface Due {
  /** In the milliseconds of the clock that is used; undefined for never. */
  readonly dueAtMs: number | undefined
}

/** Something that is due at an interval. */
export class Every implements Due {
  readonly #everyMs: number
  readonly #run: () => void
  #nextMs: number

  constructor(everyMs: number, nowMs: number, run: () => void) {
    this.#everyMs = everyMs
    this.#run = run
    this.#nextMs = nowMs + everyMs
  }

  get dueAtMs(): number {
    return this.#nextMs
  }

  /** Runs it if it is due; the next time is a whole interval later. */
  keep(nowMs: number): void {
    if (nowMs < this.#nextMs) return
    this.#nextMs = nowMs + this.#everyMs
    this.#run()
  }
}

/** The event loop's timers. */
const timers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, Math.min(ms, TIMER_MS_MAX))
    return () => clearTimeout(timer)
  },
}

/** Sleeps until the signal is raised or something is due. No timer runs while nothing is due. */
export async function sleepUntilDue(
  signal: Signal,
  dues: readonly Due[],
  nowMs: () => number,
): Promise<void> {
  const times = dues.flatMap(({ dueAtMs }) => (dueAtMs === undefined ? [] : [dueAtMs]))
  await signal.sleep(times.length === 0 ? undefined : Math.min(...times) - nowMs(), timers)
}

/** What a timetable acts on. */
interface TimetableParts {
  readonly plan: Plan
  readonly location: StoreLocation
  readonly printer: Printer
  /** Whose end is this process's end too, with `--exit-with-parent`. */
  readonly parent: number
  /** True once all existing records were handed over: before, neither silence nor the end of a span of time counts. */
  readonly isDrained: () => boolean
  readonly beat: () => void
  readonly end: (reason: End) => void
}

/** Everything that is due by the clock for one command. */
export class Timetable {
  /** The producer's state when it was last looked at. */
  readonly producer: ProducerWatch | undefined
  readonly #parts: TimetableParts
  readonly #regular: readonly Every[]
  readonly #dues: readonly Due[]
  /** When the time of `--until` has passed, in milliseconds since 1970. */
  readonly #untilMs: number | undefined

  constructor(parts: TimetableParts) {
    this.#parts = parts
    const { beat, end, isDrained, location, parent, plan, printer } = parts
    const isAgent = plan.mode === 'agent'
    this.producer = isAgent ? new ProducerWatch(location) : undefined
    const onParent = (): void => {
      if (process.ppid !== parent) end('parent_gone')
    }
    const nowMs = performance.now()
    const every = (ms: number | undefined, run: () => void): readonly Every[] =>
      ms === undefined ? [] : [new Every(ms, nowMs, run)]
    this.#regular = [
      ...every(plan.heartbeatMs, beat),
      ...every(plan.exitWithParent ? PARENT_MS : undefined, onParent),
      ...every(isAgent && plan.follow ? PRODUCER_MS : undefined, () => this.producer?.look(printer.report)),
    ]
    const untilMs = plan.follow ? plan.selection.untilMs : undefined
    this.#untilMs = untilMs
    const until: Due = {
      get dueAtMs() {
        if (untilMs === undefined || !isDrained()) return undefined
        return performance.now() + Math.max(0, untilMs - Date.now() + 1)
      },
    }
    this.#dues = [printer.stop, ...(printer.gate ? [printer.gate] : []), until, ...this.#regular]
  }

  /** Sleeps until the signal is raised or something is due. */
  sleep(signal: Signal): Promise<void> {
    return sleepUntilDue(signal, this.#dues, () => performance.now())
  }

  /** Does what is due, and ends the command if that is. */
  keep(): void {
    const { end, isDrained, printer } = this.#parts
    const nowMs = performance.now()
    printer.settleRate(false)
    for (const every of this.#regular) every.keep(nowMs)
    if (isDrained()) printer.stop.listen(nowMs)
    const due = printer.stop.due(nowMs)
    if (due !== undefined) end(due)
    if (this.#untilMs !== undefined && isDrained() && Date.now() > this.#untilMs) end('until')
  }
}

/** When a command is done, why it ended, and what the process exits with. */
import type { Plan } from '../plan.js'

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
export const TIMER_MS_MAX: number = 2 ** 31 - 1

/** As shells report a process that a signal ended. */
const SIGNALLED = { sighup: 129, sigint: 130, sigterm: 143 } as const

/** Why a command ended whose signal was aborted for this reason: a process signal, or the deadline. */
export function endOf(reason: unknown): 'deadline' | keyof typeof SIGNALLED {
  if (reason === 'deadline') return reason
  if (reason === 'SIGHUP') return 'sighup'
  return reason === 'SIGINT' ? 'sigint' : 'sigterm'
}

/** The exit code for a process signal, unless the reader is an agent. */
export function signalledCode(signal: NodeJS.Signals): number {
  const end = endOf(signal)
  return end === 'deadline' ? 0 : SIGNALLED[end]
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
        return isAgent ? 0 : SIGNALLED[reason]
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

/** When a command that follows is done by itself. */
export interface StopConditions {
  /** Records printed. */
  readonly count: number | undefined
  /** Tells the record after which to end. */
  readonly matches: ((text: string) => boolean) | undefined
  /** Time in which no record came. */
  readonly timeoutMs: number | undefined
  /** Time in all. */
  readonly deadlineMs: number | undefined
}

/** Why a command ended. `met` is success; the two others are, if something was printed. */
export type StopReason = 'met' | 'timeout' | 'deadline'

/** Watches the conditions; time is told to it. */
export class StopWatch {
  readonly #conditions: StopConditions
  readonly #startedMs: number
  /** Undefined before anybody listens. */
  #lastMs: number | undefined
  #printed = 0

  constructor(conditions: StopConditions, nowMs: number) {
    this.#conditions = conditions
    this.#startedMs = nowMs
  }

  /** Records printed so far. */
  get printed(): number {
    return this.#printed
  }

  /** Everything that was at hand was looked at: from now on, silence counts. Before, it is only being read. */
  listen(nowMs: number): void {
    this.#lastMs ??= nowMs
  }

  /** Whether this is the record that is waited for. */
  isAwaited(text: () => string): boolean {
    return this.#conditions.matches?.(text()) === true
  }

  /** A record came, printed or not. */
  onCame(nowMs: number): void {
    if (this.#lastMs !== undefined) this.#lastMs = nowMs
  }

  /** A record was printed; true if it was the last one wanted. */
  onPrinted(text: () => string, nowMs: number): boolean {
    this.#printed += 1
    this.onCame(nowMs)
    const { count } = this.#conditions
    return (count !== undefined && this.#printed >= count) || this.isAwaited(text)
  }

  /** True if no record is wanted at all. */
  get isDone(): boolean {
    return this.#conditions.count === 0
  }

  /** The condition that time has met, if any. */
  due(nowMs: number): 'timeout' | 'deadline' | undefined {
    const { timeoutMs, deadlineMs } = this.#conditions
    if (deadlineMs !== undefined && nowMs - this.#startedMs >= deadlineMs) return 'deadline'
    const lastMs = this.#lastMs
    if (timeoutMs !== undefined && lastMs !== undefined && nowMs - lastMs >= timeoutMs) return 'timeout'
    return undefined
  }

  /** When to ask again; undefined for never. */
  get dueAtMs(): number | undefined {
    const { timeoutMs, deadlineMs } = this.#conditions
    const times = [
      ...(timeoutMs === undefined || this.#lastMs === undefined ? [] : [this.#lastMs + timeoutMs]),
      ...(deadlineMs === undefined ? [] : [this.#startedMs + deadlineMs]),
    ]
    return times.length === 0 ? undefined : Math.min(...times)
  }

  /** 0 if what was asked for came, 3 if it was waited for in vain. */
  exitCode(reason: StopReason): number {
    if (reason === 'met') return 0
    const wantedMore = this.#conditions.count !== undefined || this.#conditions.matches !== undefined
    return wantedMore || this.#printed === 0 ? 3 : 0
  }
}

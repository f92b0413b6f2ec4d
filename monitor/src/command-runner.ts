import { deliveryTriesOf, limits } from '@kim/manifest'
import { execEnvironment } from './exec-env.js'
import { type ExecOptions, type ExecOutcome, runExec } from './exec-runner.js'
import type { MonitorEvent } from './monitor-event.js'

/** The clock, the timers and the processes of a runner; the system's own unless a test replaces them. */
export interface CommandEffects {
  /** Milliseconds of a clock that never steps. */
  readonly monoMs: () => number
  /** Calls `run` once after so many milliseconds; the answer cancels it. */
  readonly after: (ms: number, run: () => void) => () => void
  /** Runs the command once. */
  readonly run: (
    command: string,
    env: Readonly<Record<string, string>>,
    signal: AbortSignal,
    options: ExecOptions,
  ) => Promise<ExecOutcome>
}

/** What is run, and how often an event is tried. */
export interface CommandPlan {
  /** A line for the shell. */
  readonly command: string
  /** What the command inherits, without tokens and older events. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Tries of any event, mail too; without it the manifest's tries alone count. */
  readonly maxAttempts?: number | undefined
}

/** A failed try. */
export interface CommandRefusal {
  readonly event: MonitorEvent
  /** Failed tries so far. */
  readonly tries: number
  /** After so many the event is skipped; `Infinity` for mail without `maxAttempts`. */
  readonly triesMax: number
  readonly why: string
  /** Milliseconds since the first failed try. */
  readonly forMs: number
  /** Milliseconds until the next try. */
  readonly retryMs: number
}

/** How the delivery of one event ended. */
export type CommandDelivery =
  | { readonly kind: 'acknowledged' }
  /** Its last try failed. */
  | { readonly kind: 'skipped'; readonly tries: number; readonly why: string }
  /** A signal ended it: the event is still to be delivered. */
  | { readonly kind: 'interrupted' }

/** What one delivery is given. */
export interface DeliveryOptions {
  /** Ends the command that runs, and the delivery. */
  readonly signal: AbortSignal
  /** Ends the delivery between two tries; a command that runs has its time. Without it, `signal`. */
  readonly waiting?: AbortSignal | undefined
  /** Hears of each failed try that another one follows. What it throws ends the delivery. */
  readonly onRefused?: ((refusal: CommandRefusal) => void) | undefined
  /** Takes what the command prints; without it that goes to stderr. */
  readonly onOutput?: ((chunk: Buffer) => void) | undefined
}

const RETRY_MS_MIN = 1000
const RETRY_MS_MAX = 30_000

/** How long to wait after so many failed tries: 1 s, doubling to 30 s (KS-87, CL-31). */
export function deliveryRetryMs(failures: number): number {
  return Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** Math.max(0, failures - 1))
}

const SYSTEM: CommandEffects = {
  monoMs: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
  run: runExec,
}

/**
 * Delivers events to a command: exit 0 acknowledges one, anything else is tried again with back-off until its last
 * try, after which it is skipped and counted. It knows no cursor: the caller commits. Deliveries may run side by
 * side; at most `exec_commands_max` commands run at once, in the order in which they became ready.
 */
export class CommandRunner {
  readonly #plan: CommandPlan
  readonly #effects: CommandEffects
  readonly #skipped: Record<string, number> = {}
  #running = 0
  readonly #queue: (() => void)[] = []

  constructor(plan: CommandPlan, effects: Partial<CommandEffects> = {}) {
    this.#plan = plan
    this.#effects = { ...SYSTEM, ...effects }
  }

  /** Events that were skipped after their last try, by wake class. */
  get skipped(): Readonly<Record<string, number>> {
    return { ...this.#skipped }
  }

  /** Runs the command for one event until that is acknowledged, skipped or interrupted. */
  async deliver(event: MonitorEvent, options: DeliveryOptions): Promise<CommandDelivery> {
    const { signal, waiting = signal, onRefused } = options
    const triesMax = Math.min(
      deliveryTriesOf(event.event),
      this.#plan.maxAttempts ?? Number.POSITIVE_INFINITY,
    )
    let firstMs: number | undefined
    for (let tries = 1; ; tries++) {
      const outcome = await this.#try(event, options)
      if (outcome.kind !== 'refused') return outcome
      const { why } = outcome
      if (tries >= triesMax) {
        this.#skipped[event.wake_class] = (this.#skipped[event.wake_class] ?? 0) + 1
        return { kind: 'skipped', tries, why }
      }
      const nowMs = this.#effects.monoMs()
      firstMs ??= nowMs
      const retryMs = deliveryRetryMs(tries)
      onRefused?.({ event, tries, triesMax, why, forMs: nowMs - firstMs, retryMs })
      if (!(await this.#pause(retryMs, waiting))) return { kind: 'interrupted' }
    }
  }

  async #try(event: MonitorEvent, { signal, onOutput }: DeliveryOptions): Promise<ExecOutcome> {
    const { command, env } = this.#plan
    if (!(await this.#begin(signal))) return { kind: 'interrupted' }
    try {
      const options = { timeoutMs: limits.execTimeoutMsMax, onOutput }
      return await this.#effects.run(command, execEnvironment(event, env), signal, options)
    } finally {
      this.#end()
    }
  }

  /** Waits until fewer commands run than may; false if the signal came first. */
  async #begin(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false
    if (this.#running < limits.execCommandsMax) {
      this.#running++
      return true
    }
    return await new Promise<boolean>(resolve => {
      const begin = (): void => {
        signal.removeEventListener('abort', leave)
        resolve(true)
      }
      const leave = (): void => {
        this.#queue.splice(this.#queue.indexOf(begin), 1)
        resolve(false)
      }
      signal.addEventListener('abort', leave, { once: true })
      this.#queue.push(begin)
    })
  }

  /** Hands its place on to whichever delivery has waited longest. */
  #end(): void {
    const next = this.#queue.shift()
    if (next === undefined) this.#running--
    else next()
  }

  /** False if the signal came first. */
  async #pause(ms: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false
    return await new Promise<boolean>(resolve => {
      const leave = (): void => {
        cancel()
        resolve(false)
      }
      const cancel = this.#effects.after(ms, () => {
        signal.removeEventListener('abort', leave)
        resolve(true)
      })
      signal.addEventListener('abort', leave, { once: true })
    })
  }
}

/** Runs a command for an event: how often it is tried, how long it may take, and what is left of it afterwards. */
import { type ChildProcess, spawn } from 'node:child_process'
import { deliveryTriesOf, type Environment, limits } from '@kim/manifest'
import { bareEnvironment, execEnvironment } from './exec-env.js'
import type { MonitorEvent } from './monitor-event.js'

/** How one run of the command ended. */
export type ExecOutcome =
  | { readonly kind: 'acknowledged' }
  | { readonly kind: 'refused'; readonly why: string }
  /** The signal ended it: whether it did its work is unknown. */
  | { readonly kind: 'interrupted' }

/** How one run differs from the usual one. */
export interface ExecOptions {
  /** `Infinity` if it may take as long as it likes. */
  readonly timeoutMs?: number | undefined
  /** Its stdin; empty by default. */
  readonly input?: Uint8Array | undefined
  /** Receives what the command prints, as it comes. By default that goes to this process's stderr. */
  readonly onOutput?: ((chunk: Buffer) => void) | undefined
}

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
  readonly env: Environment
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
  /** Ends the delivery between two tries; a command that runs may finish. By default `signal`. */
  readonly waiting?: AbortSignal | undefined
  /** Called after each failed try that another one follows. What it throws ends the delivery. */
  readonly onRefused?: ((refusal: CommandRefusal) => void) | undefined
  /** As for one run. */
  readonly onOutput?: ExecOptions['onOutput']
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
      const isOver = await unlessAborted(waiting, done => this.#effects.after(retryMs, done))
      if (!isOver) return { kind: 'interrupted' }
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
    if (!signal.aborted && this.#running < limits.execCommandsMax) {
      this.#running++
      return true
    }
    return await unlessAborted(signal, begin => {
      this.#queue.push(begin)
      return () => void this.#queue.splice(this.#queue.indexOf(begin), 1)
    })
  }

  /** Passes its place to the delivery that has waited longest. */
  #end(): void {
    const next = this.#queue.shift()
    if (next === undefined) this.#running--
    else next()
  }
}

/** Waits until what `wait` is given is called; false if the signal came first. `wait` returns how to stop waiting. */
function unlessAborted(signal: AbortSignal, wait: (done: () => void) => () => void): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false)
  return new Promise(resolve => {
    const leave = (): void => {
      cancel()
      resolve(false)
    }
    const cancel = wait(() => {
      signal.removeEventListener('abort', leave)
      resolve(true)
    })
    signal.addEventListener('abort', leave, { once: true })
  })
}

/** Grace between asking the group to end and ending it. */
const GRACE_MS = 500

/**
 * Runs a command once, in a process group of its own. Ends the whole group when its time is up or it failed, so that
 * no try leaves a process behind. Its output is read or goes to stderr, as stdout is data; so it never waits for a reader.
 */
export function runExec(
  command: string,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
  { timeoutMs = limits.execTimeoutMsMax, input, onOutput }: ExecOptions = {},
): Promise<ExecOutcome> {
  if (signal.aborted) return Promise.resolve({ kind: 'interrupted' })
  return new Promise(resolve => {
    const output = onOutput === undefined ? 2 : 'pipe'
    const child = start(command, env, [input === undefined ? 'ignore' : 'pipe', output, output])
    if (typeof child === 'string') {
      resolve({ kind: 'refused', why: `could not be started: ${child}` })
      return
    }
    let timedOut = false
    let kill: NodeJS.Timeout | undefined
    const end = (): void => {
      signalGroup(child.pid, 'SIGTERM')
      kill = setTimeout(() => signalGroup(child.pid, 'SIGKILL'), GRACE_MS)
    }
    const expire = (): void => {
      timedOut = true
      end()
    }
    const timer = Number.isFinite(timeoutMs) ? setTimeout(expire, timeoutMs) : undefined
    signal.addEventListener('abort', end, { once: true })
    if (running.size === 0) process.once('exit', killAll)
    running.add(child)
    const settle = (outcome: ExecOutcome): void => {
      clearTimeout(timer)
      clearTimeout(kill)
      signal.removeEventListener('abort', end)
      running.delete(child)
      if (running.size === 0) process.removeListener('exit', killAll)
      // The shell has ended; what it started may still run. It may go on only if the event was acknowledged.
      if (outcome.kind !== 'acknowledged') signalGroup(child.pid, 'SIGKILL')
      resolve(outcome)
    }
    child.on('error', error => settle({ kind: 'refused', why: error.message }))
    child.on('exit', (code, killedBy) => {
      if (timedOut) settle({ kind: 'refused', why: `took longer than ${timeoutMs / 1000} s` })
      else if (signal.aborted) settle({ kind: 'interrupted' })
      else if (code === 0) settle({ kind: 'acknowledged' })
      else
        settle({
          kind: 'refused',
          why: code === null ? `was killed by ${killedBy}` : `exited with ${code}${SHELL_SAYS[code] ?? ''}`,
        })
    })
    if (onOutput !== undefined) drain(child, onOutput)
    // A command need not read its input.
    child.stdin?.on('error', () => undefined).end(input)
  })
}

/** Commands that run. One listener ends all of them, as Node warns of a leak when there are more than ten. */
const running: Set<ChildProcess> = new Set()

/** A second signal ends this process before the grace is over. */
function killAll(): void {
  for (const { pid } of running) signalGroup(pid, 'SIGKILL')
}

/** What a shell means by an exit of its own. */
const SHELL_SAYS: Readonly<Record<number, string>> = {
  126: ': the file exists and is not executable',
  127: ': command not found',
}

/** How a system refuses an environment that is too long. */
const TOO_LONG = /\b(E2BIG|EINVAL)\b/

/** Starts a command, with less of the event if the system refuses the whole; as text, why it did not start. */
function start(
  command: string,
  env: Readonly<Record<string, string>>,
  stdio: readonly ('pipe' | 'ignore' | 2)[],
): ChildProcess | string {
  const spawned = (own: Readonly<Record<string, string>>): ChildProcess | string => {
    try {
      return spawn(command, { shell: true, detached: true, env: { ...own }, stdio: [...stdio] })
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
  const first = spawned(env)
  return typeof first === 'string' && TOO_LONG.test(first) ? spawned(bareEnvironment(env)) : first
}

/** How many commands are still read after their end, because something that they started holds their output open. */
const LEFT_MAX = 16
/** Those commands, oldest first. */
const left: Set<ChildProcess> = new Set()

/** Reads the output while anything writes to it. That keeps neither this process alive nor many descriptors open. */
function drain(child: ChildProcess, onOutput: (chunk: Buffer) => void): void {
  // A command that could not be started for lack of descriptors has no streams.
  const streams = [child.stdout, child.stderr].filter(stream => stream != null)
  for (const stream of streams) {
    stream.on('data', onOutput).on('error', () => undefined)
    if ('unref' in stream && typeof stream.unref === 'function') stream.unref()
  }
  child.on('exit', () => {
    left.add(child)
    const [oldest] = left
    if (left.size <= LEFT_MAX || oldest === undefined) return
    left.delete(oldest)
    for (const stream of [oldest.stdout, oldest.stderr]) stream?.destroy()
  })
  child.on('close', () => left.delete(child))
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    // Windows has no process groups to signal; there the shell itself is ended.
    process.kill(process.platform === 'win32' ? pid : -pid, signal)
  } catch {
    // All of its processes have ended.
  }
}

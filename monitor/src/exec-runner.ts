import { type ChildProcess, spawn } from 'node:child_process'
import { limits } from '@kim/manifest'
import { bareEnvironment } from './exec-env.js'

/** How one run of the command ended. */
export type ExecOutcome =
  | { readonly kind: 'acknowledged' }
  | { readonly kind: 'refused'; readonly why: string }
  /** This process was told to end meanwhile: nothing is known. */
  | { readonly kind: 'interrupted' }

/** What a run may be given besides. */
export interface ExecOptions {
  /** `Infinity` where it may take as long as it likes. */
  readonly timeoutMs?: number | undefined
  /** What it gets on its stdin; without it that is empty. */
  readonly input?: Uint8Array | undefined
  /** Takes what the command prints, as it comes; without it that goes to this process's stderr. */
  readonly onOutput?: ((chunk: Buffer) => void) | undefined
}

/** Grace between asking the group to end and ending it. */
const GRACE_MS = 500

/**
 * Runs a command for one event, in a process group of its own, and ends the whole group when its time is up or it
 * failed, so that no try leaves anything behind. What it prints never stops it: it is read or goes to stderr, as
 * stdout is data.
 */
export function runExec(
  command: string,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
  { timeoutMs = limits.execTimeoutMsMax, input, onOutput }: ExecOptions = {},
): Promise<ExecOutcome> {
  if (signal.aborted) return Promise.resolve({ kind: 'interrupted' })
  return new Promise(resolve => {
    const child = start(
      command,
      env,
      input === undefined ? 'ignore' : 'pipe',
      onOutput === undefined ? 2 : 'pipe',
    )
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
    runs(child)
    const settle = (outcome: ExecOutcome): void => {
      clearTimeout(timer)
      clearTimeout(kill)
      signal.removeEventListener('abort', end)
      isOver(child)
      // The shell is gone; what it started may not be. Only what was acknowledged may go on by itself.
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
    // A command need not read what it is given.
    child.stdin?.on('error', () => undefined).end(input)
  })
}

/** Commands that run; one listener for all, as Node warns of a leak when there are more than ten. */
const running: Set<ChildProcess> = new Set()

/** A second signal ends this process within the grace. */
function killAll(): void {
  for (const { pid } of running) signalGroup(pid, 'SIGKILL')
}

function runs(child: ChildProcess): void {
  if (running.size === 0) process.once('exit', killAll)
  running.add(child)
}

function isOver(child: ChildProcess): void {
  running.delete(child)
  if (running.size === 0) process.removeListener('exit', killAll)
}

/** What a shell means by an exit of its own. */
const SHELL_SAYS: Readonly<Record<number, string>> = {
  126: ': the file exists and is not executable',
  127: ': command not found',
}

/** What the system says of an environment that is too long for it. */
const TOO_LONG = /\b(E2BIG|EINVAL)\b/

/** Starts it, with less of the event where that is in the way; why it does not start, if it is not. */
function start(
  command: string,
  env: Readonly<Record<string, string>>,
  input: 'pipe' | 'ignore',
  output: 'pipe' | 2,
): ChildProcess | string {
  const spawned = (own: Readonly<Record<string, string>>): ChildProcess | string => {
    try {
      return spawn(command, {
        shell: true,
        detached: true,
        env: { ...own },
        stdio: [input, output, output],
      })
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
  const first = spawned(env)
  return typeof first === 'string' && TOO_LONG.test(first) ? spawned(bareEnvironment(env)) : first
}

/** So many commands are read on that exited and left something running, which holds their output open. */
const LEFT_MAX = 16
/** Those of this process, oldest first. */
const left: Set<ChildProcess> = new Set()

/** Reads on for as long as anybody writes, without keeping this process alive for it, nor ever more descriptors. */
function drain(child: ChildProcess, onOutput: (chunk: Buffer) => void): void {
  // Of a command that could not be started for want of descriptors there are none.
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
    // Nobody of it is left.
  }
}

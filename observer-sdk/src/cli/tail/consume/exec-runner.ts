import { spawn } from 'node:child_process'
import { limits } from '@kim/manifest'

/** How one run of the command ended. */
export type ExecOutcome =
  | { readonly kind: 'acknowledged' }
  | { readonly kind: 'refused'; readonly why: string }
  /** This process was told to end meanwhile: nothing is known. */
  | { readonly kind: 'interrupted' }

/** Grace between asking the group to end and ending it. */
const GRACE_MS = 500

/**
 * Runs a command for one event, in a process group of its own, and ends the whole group when its time is up, so that
 * nothing it started is left behind. What it prints goes to stderr: stdout is data.
 */
export function runExec(
  command: string,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
  timeoutMs: number = limits.execTimeoutMsMax,
): Promise<ExecOutcome> {
  if (signal.aborted) return Promise.resolve({ kind: 'interrupted' })
  return new Promise(resolve => {
    const child = spawn(command, { shell: true, detached: true, env: { ...env }, stdio: ['ignore', 2, 2] })
    let timedOut = false
    let kill: NodeJS.Timeout | undefined
    const end = (): void => {
      signalGroup(child.pid, 'SIGTERM')
      kill = setTimeout(() => signalGroup(child.pid, 'SIGKILL'), GRACE_MS)
    }
    const timer = setTimeout(() => {
      timedOut = true
      end()
    }, timeoutMs)
    signal.addEventListener('abort', end, { once: true })
    const settle = (outcome: ExecOutcome): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      if (kill !== undefined) {
        clearTimeout(kill)
        // The shell is gone; what it started may have ignored the request.
        signalGroup(child.pid, 'SIGKILL')
      }
      resolve(outcome)
    }
    child.on('error', error => settle({ kind: 'refused', why: error.message }))
    child.on('exit', (code, killedBy) => {
      if (timedOut) settle({ kind: 'refused', why: `took longer than ${timeoutMs / 1000} s` })
      else if (signal.aborted) settle({ kind: 'interrupted' })
      else if (code === 0) settle({ kind: 'acknowledged' })
      else
        settle({ kind: 'refused', why: code === null ? `was ended by ${killedBy}` : `exited with ${code}` })
    })
  })
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

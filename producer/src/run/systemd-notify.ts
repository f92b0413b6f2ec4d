/** What the service tells systemd, if that is its supervisor. */
import { spawn } from 'node:child_process'
import type { Environment } from '@kim/manifest'
import type { RunLog } from './run-log.js'

/** The program that started the producer and wants to know how it is. */
export interface Supervisor {
  /** It is at work. */
  ready(status: string): void
  /** It has made progress; may be said often, and is passed on as often as is needed. */
  alive(nowMs: number): void
  /** It is about to end. */
  stopping(): void
}

/** Says one thing; Node has no datagram sockets, so it takes a program. */
export type Notify = (words: readonly string[], failed: (why: string) => void, env: Environment) => void

const systemdNotify: Notify = (words, failed, { PATH, NOTIFY_SOCKET }) => {
  // It gets to know where to report, and nothing else of ours: our environment may hold the token (KS-84).
  const child = spawn('systemd-notify', words, { stdio: 'ignore', env: { PATH, NOTIFY_SOCKET } })
  child.on('error', error => failed(error.message))
  child.on('exit', code => {
    if (code !== 0 && code !== null) failed(`systemd-notify exited with ${code}`)
  })
  child.unref()
}

/** systemd, if it asked for reports. */
export function systemdSupervisor(
  env: Environment,
  log: RunLog,
  notify: Notify = systemdNotify,
): Supervisor | undefined {
  if (!env['NOTIFY_SOCKET']) return undefined
  let isBroken = false
  const failed = (why: string): void => {
    if (isBroken) return
    isBroken = true
    log({
      level: 'error',
      code: 'notify_failed',
      message: `cannot report to systemd: ${why}`,
      hint: 'systemd will consider this producer hung; install the service again with the same flags: kim-producer install-service FLAGS',
    })
  }
  const tell = (...words: string[]): void => notify(words, failed, env)
  // A third of its time leaves room for one that comes late; more often would only cost a process each.
  const everyMs = Number(env['WATCHDOG_USEC'] ?? 0) / 3000
  let dueMs = Number.NEGATIVE_INFINITY
  return {
    ready: status => tell('READY=1', `STATUS=${status}`),
    alive: nowMs => {
      if (!(everyMs > 0) || nowMs < dueMs) return
      dueMs = nowMs + everyMs
      tell('WATCHDOG=1')
    },
    stopping: () => tell('STOPPING=1'),
  }
}

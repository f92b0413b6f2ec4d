import { spawnSync } from 'node:child_process'
import { isAbsolute, join } from 'node:path'
import { type Environment, KimError } from '@kim/manifest'

/** The supervisors that a user has, one per platform. */
export const SERVICE_TARGETS = ['systemd-user', 'launchd', 'windows-task'] as const
export type ServiceTarget = (typeof SERVICE_TARGETS)[number]

/** Which supervisor a platform has. */
export function targetOf(platform: string): ServiceTarget {
  if (platform === 'linux') return 'systemd-user'
  if (platform === 'darwin') return 'launchd'
  if (platform === 'win32') return 'windows-task'
  throw new KimError('config_invalid', `no supervisor of ${platform} is known`, {
    hint: 'name one with --target and print its file with --print, or run kim-producer run under your own supervisor',
  })
}

/** A service's name for its supervisor, and the file that describes it. */
export interface ServicePlace {
  readonly target: ServiceTarget
  readonly name: string
  readonly file: string
}

/** The name by which a supervisor knows the service. */
export function serviceName(target: ServiceTarget, instance: string | undefined): string {
  const part = (separator: string): string => (instance === undefined ? '' : `${separator}${instance}`)
  if (target === 'systemd-user') return `kim-producer${part('-')}.service`
  return target === 'launchd' ? `kim.producer${part('.')}` : `\\KIM\\producer${part('-')}`
}

/** Where a supervisor looks for a user's services. */
export function servicePlace(
  target: ServiceTarget,
  instance: string | undefined,
  env: Environment,
  home: string,
): ServicePlace {
  const name = serviceName(target, instance)
  if (target === 'systemd-user') {
    // A relative value does not count, as with all of these variables.
    const chosen = env['XDG_CONFIG_HOME']
    const config = chosen !== undefined && isAbsolute(chosen) ? chosen : join(home, '.config')
    return { target, name, file: join(config, 'systemd', 'user', name) }
  }
  if (target === 'launchd') {
    return { target, name, file: join(home, 'Library', 'LaunchAgents', `${name}.plist`) }
  }
  const local = env['LOCALAPPDATA'] || join(home, 'AppData', 'Local')
  return { target, name, file: join(local, 'KIM', `${name.split('\\').at(-1)}.xml`) }
}

/** Runs a command of the system to its end, for at most half a minute. `status` is null if it could not be started. */
export type Runner = (command: readonly string[]) => {
  readonly status: number | null
  readonly output: string
}

const COMMAND_MS_MAX = 30_000

/** The system's own commands. */
export const systemRunner: Runner = ([file = '', ...args]) => {
  const { status, stdout, stderr, error } = spawnSync(file, args, {
    encoding: 'utf8',
    timeout: COMMAND_MS_MAX,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { status, output: error === undefined ? `${stdout}${stderr}`.trim() : error.message }
}

/** What to do if this user's supervisor cannot be reached from here. */
export const NO_BUS_HINT: string =
  'this login session has no systemd: log in directly as the user (not with su or sudo), or print the unit for another supervisor: --print'

/** Whether systemd's commands say with this that there is no systemd to ask. */
export function isBusless(output: string): boolean {
  return /connect to (the )?bus|No medium found/i.test(output)
}

/** What is known of the systemd that a unit is written for. */
export interface SystemdFeatures {
  readonly version: number
  /** Whether `systemd-notify` exists, through which a process without a datagram socket can report. */
  readonly notify: boolean
  /** Whether a test showed that a user unit cannot write outside the directories it was given. */
  readonly sandbox: boolean
  /** Why the sandbox could not be tested, if it could not. */
  readonly untried?: string
}

/**
 * What the systemd of this user can do. The sandbox is tested, not assumed: without user namespaces systemd may ignore
 * its settings silently, or not start the unit at all. A transient unit tries to write into the home directory; it
 * must run, and the write must fail.
 */
export function probeSystemd(run: Runner, home: string): SystemdFeatures {
  const version = /systemd (\d+)/.exec(run(['systemctl', '--version']).output)?.[1]
  const notify = run(['systemd-notify', '--version']).status === 0
  // If the unit did not see the home directory at all, the test would prove nothing.
  const ownTmp = isInTmp(home) ? [] : ['PrivateTmp=yes']
  const settings = ['ProtectSystem=strict', 'ProtectHome=read-only', ...ownTmp].flatMap(one => ['-p', one])
  const attempt = 'f="$1/.kim-probe.$$"; if (: > "$f") 2>/dev/null; then rm -f "$f"; exit 9; else exit 7; fi'
  const { status, output } = run([
    ...['systemd-run', '--user', '--quiet', '--wait', '--collect', ...settings],
    ...['/bin/sh', '-c', attempt, 'probe', home],
  ])
  const isTried = status !== null && !isBusless(output)
  return {
    version: Number(version ?? 0),
    notify,
    sandbox: status === 7,
    ...(isTried ? {} : { untried: output }),
  }
}

/** Whether the services of a user keep running after logout; undefined if loginctl does not answer. */
export function lingers(run: Runner, user: string): boolean | undefined {
  const { output } = run(['loginctl', 'show-user', user, '--property=Linger'])
  return /^Linger=(?:yes|no)$/m.test(output) ? output.includes('Linger=yes') : undefined
}

/** Whether a path, or the value of a flag, is where a unit with `PrivateTmp` sees other files. */
export function isInTmp(word: string): boolean {
  return /^(--[\w-]+=)?\/(var\/)?tmp(\/|$)/.test(word)
}

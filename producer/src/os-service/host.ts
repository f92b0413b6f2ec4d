import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { dirname } from 'node:path'
import { KimError, replaceFile } from '@kim/manifest'
import { plainReplaceDisk } from '../effects/file-system.js'
import type { InstallStep } from './install-plan.js'

/** How a command of the system ended. */
interface CommandResult {
  /** Null if it could not be started at all. */
  readonly status: number | null
  readonly output: string
}

/** Runs a command of the system to its end, for at most half a minute. */
export type Runner = (command: readonly string[]) => CommandResult

const COMMAND_MS_MAX = 30_000

/** What to do where this user's supervisor cannot be reached from here. */
export const NO_BUS_HINT: string =
  'this login session has no systemd: log in directly as the user (not with su or sudo), or print the unit for another supervisor: --print'

const NO_SUPERVISOR_HINT =
  'print the unit with --print and install it by hand, or run kim-producer run under another supervisor'

/** The system's own commands. */
export const systemRunner: Runner = ([file = '', ...args]) => {
  const { status, stdout, stderr, error } = spawnSync(file, args, {
    encoding: 'utf8',
    timeout: COMMAND_MS_MAX,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { status, output: error === undefined ? `${stdout}${stderr}`.trim() : error.message }
}

/** What became of a step. */
export interface Done {
  readonly step: InstallStep
  /** Why a step that may be refused was. */
  readonly refused?: string
  /** The uppermost directory that was made. */
  readonly made?: string
}

/**
 * Does one step, and what stands in its place where it is refused; what was there already is no step. What cannot be
 * done is an error that names it, and nothing after it is tried.
 */
export function perform(step: InstallStep, run: Runner): Done[] {
  if (step.kind === 'directory') {
    const made = fs.mkdirSync(step.path, { recursive: true, mode: 0o700 })
    return made === undefined ? [] : [{ step, made }]
  }
  if (step.kind === 'write') {
    write(step.path, step.bytes)
    return [{ step }]
  }
  if (step.kind === 'remove') {
    if (fs.lstatSync(step.path, { throwIfNoEntry: false }) === undefined) return []
    fs.rmSync(step.path)
    return [{ step }]
  }
  const { status, output } = run(step.command)
  if (status === 0) return [{ step }]
  const refused = output || `exit ${status}`
  const { command, mayFail, otherwise = [], extra } = step
  if (mayFail === true) return [{ step, refused }, ...otherwise.flatMap(other => perform(other, run))]
  const lacks = extra === undefined ? '' : `; ${extra.lacks}`
  const hint = extra?.hint ?? hintOf(status, refused, command)
  const message = `\`${command.join(' ')}\` failed: ${refused}${endOf(command, run)}${lacks}`
  throw new KimError('service_failed', message, hint === undefined ? {} : { hint })
}

function hintOf(status: number | null, refused: string, command: readonly string[]): string | undefined {
  if (isBusless(refused)) return NO_BUS_HINT
  if (status === null) return NO_SUPERVISOR_HINT
  const [, , verb, name] = command
  if (verb !== 'restart') return undefined
  return `read its log: journalctl --user -u ${name} -e; or run kim-producer run here with the same flags`
}

/** How the process of a unit that did not start ended, which systemctl keeps to itself unless it is asked. */
function endOf([, , verb, name = '']: readonly string[], run: Runner): string {
  if (verb !== 'restart') return ''
  const { output } = run(['systemctl', '--user', 'show', '--property=ExecMainStatus', name])
  const status = /^ExecMainStatus=(\d+)$/m.exec(output)?.[1] ?? '0'
  return status === '0' ? '' : ` (its process ended with ${status})`
}

/** Whether that is how systemd's commands say that there is nobody to ask. */
export function isBusless(refused: string): boolean {
  return /connect to (the )?bus|No medium found/i.test(refused)
}

/** Whole or not at all: a supervisor may read the file at any moment. */
function write(path: string, bytes: Buffer): void {
  fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  replaceFile(plainReplaceDisk, { target: path, draft: `${path}.${process.pid}.tmp`, chunks: [bytes] })
}

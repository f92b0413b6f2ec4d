import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { dirname } from 'node:path'
import { KimError } from '@kim/manifest'
import type { Step } from './install-plan.js'

/** How a command of the system ended. */
interface Outcome {
  /** Null if it could not be started at all. */
  readonly status: number | null
  readonly output: string
}

/** Runs a command of the system to its end, for at most half a minute. */
export type Runner = (command: readonly string[]) => Outcome

const COMMAND_MS_MAX = 30_000

const NO_BUS_HINT =
  'this login has no systemd of its own: log in as the user itself (no su, no sudo), or --print the unit for another supervisor'

/** The system's own commands. */
export const systemRunner: Runner = ([file = '', ...args]) => {
  const { status, stdout, stderr, error } = spawnSync(file, args, {
    encoding: 'utf8',
    timeout: COMMAND_MS_MAX,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { status, output: error === undefined ? `${stdout}${stderr}`.trim() : error.message }
}

/** Does one step; what cannot be done is an error that names it, and nothing after it is tried. */
export function perform(step: Step, run: Runner): void {
  if (step.kind === 'directory') fs.mkdirSync(step.path, { recursive: true, mode: 0o700 })
  else if (step.kind === 'write') write(step.path, step.bytes)
  else if (step.kind === 'remove') fs.rmSync(step.path, { force: true })
  else {
    const { status, output } = run(step.command)
    if (status === 0 || step.mayFail === true) return
    throw new KimError(
      'service_failed',
      `\`${step.command.join(' ')}\` failed: ${output || `exit ${status}`}`,
      /connect to (the )?bus|No medium found/i.test(output) ? { hint: NO_BUS_HINT } : {},
    )
  }
}

/** Whole or not at all: a supervisor may read the file at any moment. */
function write(path: string, bytes: Buffer): void {
  fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${process.pid}.tmp`
  fs.writeFileSync(temporary, bytes, { mode: 0o600, flag: 'wx' })
  try {
    fs.renameSync(temporary, path)
  } catch (error) {
    fs.rmSync(temporary, { force: true })
    throw error
  }
}

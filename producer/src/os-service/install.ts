import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { KimError, replaceFile } from '@kim/manifest'
import { plainReplaceDisk } from '../effects/system.js'
import { isBusless, NO_BUS_HINT, type Runner, type ServicePlace } from './supervisors.js'
import { type InstallContext, type ServiceSpec, serviceText, windowsTaskBytes } from './unit-text.js'

/** One step of an installation, as data, so that it can be printed instead of done. */
export type InstallStep =
  | { readonly kind: 'directory'; readonly path: string }
  | { readonly kind: 'write'; readonly path: string; readonly bytes: Buffer }
  | { readonly kind: 'remove'; readonly path: string }
  | {
      readonly kind: 'run'
      readonly command: readonly string[]
      /** A failure only means that there was nothing to do, or no supervisor to ask. */
      readonly mayFail?: true
      /** Steps to do instead if the command fails. */
      readonly otherwise?: readonly InstallStep[]
      /** The service works without this step: its failure undoes nothing, and the error says this. */
      readonly extra?: { readonly lacks: string; readonly hint: string }
    }

/** The steps that install a service. Repeating them has the same result. */
export function installSteps(
  place: ServicePlace,
  spec: ServiceSpec,
  context: InstallContext,
  { start, linger }: { readonly start: boolean; readonly linger: boolean },
): InstallStep[] {
  const { target, name, file } = place
  const text = serviceText(target, spec, context)
  const bytes = target === 'windows-task' ? windowsTaskBytes(text) : Buffer.from(text)
  const directories = [spec.storeDir, ...spec.writes, dirname(file)]
  if (target === 'launchd') directories.push(dirname(context.logFile))
  const steps: InstallStep[] = [
    ...directories.map((path): InstallStep => ({ kind: 'directory', path })),
    { kind: 'write', path: file, bytes },
  ]
  if (target === 'systemd-user') {
    steps.push(must('systemctl', '--user', 'daemon-reload'), must('systemctl', '--user', 'enable', name))
    // A running service keeps its old unit until it is restarted.
    if (start) steps.push(must('systemctl', '--user', 'restart', name))
    if (linger) steps.push(lingerStep(context.user))
  } else if (target === 'launchd') {
    const domain = `gui/${context.uid}`
    steps.push(may('launchctl', 'bootout', `${domain}/${name}`))
    if (start) steps.push(must('launchctl', 'bootstrap', domain, file))
  } else {
    steps.push(must('schtasks', '/Create', '/TN', name, '/XML', file, '/F'))
    if (start) steps.push(must('schtasks', '/Run', '/TN', name))
  }
  return steps
}

function must(...command: string[]): InstallStep {
  return { kind: 'run', command }
}

function may(...command: string[]): Extract<InstallStep, { kind: 'run' }> {
  return { kind: 'run', command, mayFail: true }
}

function lingerStep(user: string): InstallStep {
  const command = ['loginctl', 'enable-linger', user]
  const extra = {
    lacks: 'the service is installed, but it ends when you log out',
    hint: `ask an administrator to run: sudo ${command.join(' ')}`,
  }
  return { kind: 'run', command, extra }
}

/** The steps that remove a service. The store stays. */
export function uninstallSteps({ target, name, file }: ServicePlace, uid: number): InstallStep[] {
  const remove = { kind: 'remove', path: file } as const
  if (target === 'systemd-user') {
    // `disable` removes this link; without a systemd to ask we remove it.
    const link = join(dirname(file), 'default.target.wants', name)
    const disable = may('systemctl', '--user', 'disable', '--now', name)
    return [
      { ...disable, otherwise: [{ kind: 'remove', path: link }] },
      remove,
      may('systemctl', '--user', 'daemon-reload'),
    ]
  }
  if (target === 'launchd') return [may('launchctl', 'bootout', `gui/${uid}/${name}`), remove]
  return [may('schtasks', '/End', '/TN', name), may('schtasks', '/Delete', '/TN', name, '/F'), remove]
}

/** The result of a step. */
export interface Done {
  readonly step: InstallStep
  /** Why a step that may fail did fail. */
  readonly refused?: string
  /** The uppermost directory that was created. */
  readonly made?: string
}

/** Does one step. Returns nothing if there was nothing to do, and throws an error that names the step if it failed. */
export function perform(step: InstallStep, run: Runner): Done[] {
  if (step.kind === 'directory') {
    const made = fs.mkdirSync(step.path, { recursive: true, mode: 0o700 })
    return made === undefined ? [] : [{ step, made }]
  }
  if (step.kind === 'write') {
    const { path, bytes } = step
    fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    // The supervisor may read the file at any moment.
    replaceFile(plainReplaceDisk, { target: path, draft: `${path}.${process.pid}.tmp`, chunks: [bytes] })
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
  if (status === null)
    return 'print the unit with --print and install it by hand, or run kim-producer run under another supervisor'
  const [, , verb, name] = command
  if (verb !== 'restart') return undefined
  return `read its log: journalctl --user -u ${name} -e; or run kim-producer run here with the same flags`
}

/** How the process of a unit that did not start ended: systemctl says it only when it is asked. */
function endOf([, , verb, name = '']: readonly string[], run: Runner): string {
  if (verb !== 'restart') return ''
  const { output } = run(['systemctl', '--user', 'show', '--property=ExecMainStatus', name])
  const status = /^ExecMainStatus=(\d+)$/m.exec(output)?.[1] ?? '0'
  return status === '0' ? '' : ` (its process ended with ${status})`
}

/**
 * Installs a service, or restores the previous state: a file that no supervisor accepted would look like a service that
 * runs. Returns the steps that were done.
 */
export function install(
  place: ServicePlace,
  steps: readonly InstallStep[],
  uid: number,
  run: Runner,
): Done[] {
  const before = serviceBefore(place, uid, run)
  const done: Done[] = []
  for (const step of steps) {
    try {
      done.push(...perform(step, run))
    } catch (error) {
      if (!(error instanceof Error) || (step.kind === 'run' && step.extra !== undefined)) throw error
      const message = `${error.message}; ${restore(place, before, done, uid, run)}`
      const options = { cause: error }
      if (error instanceof KimError) throw new KimError(error.code, message, { hint: error.hint, ...options })
      const isDenied = 'code' in error && (error.code === 'EACCES' || error.code === 'EPERM')
      throw new KimError(isDenied ? 'not_permitted' : 'service_failed', message, options)
    }
  }
  return done
}

/** The service that another one is about to replace. */
type Before = ReturnType<typeof serviceBefore>

function serviceBefore({ target, name, file }: ServicePlace, uid: number, run: Runner) {
  let bytes: Buffer
  try {
    bytes = fs.readFileSync(file)
  } catch {
    return undefined
  }
  const says = (...command: string[]): boolean => run(command).status === 0
  if (target === 'systemd-user') {
    const isEnabled = says('systemctl', '--user', 'is-enabled', '--quiet', name)
    return { bytes, isEnabled, isActive: says('systemctl', '--user', 'is-active', '--quiet', name) }
  }
  if (target === 'launchd') {
    const isLoaded = says('launchctl', 'print', `gui/${uid}/${name}`)
    return { bytes, isEnabled: isLoaded, isActive: isLoaded }
  }
  return { bytes, isEnabled: says('schtasks', '/Query', '/TN', name), isActive: false }
}

/** The steps that bring back the state before an installation, as far as the supervisor allows. */
function undoSteps(place: ServicePlace, before: Before, uid: number): InstallStep[] {
  const { target, name, file } = place
  if (before === undefined) {
    const removal = uninstallSteps(place, uid)
    return target === 'systemd-user'
      ? [...removal, may('systemctl', '--user', 'reset-failed', name)]
      : removal
  }
  const write: InstallStep = { kind: 'write', path: file, bytes: before.bytes }
  if (target === 'systemd-user') {
    return [
      ...(before.isEnabled ? [] : [may('systemctl', '--user', 'disable', name)]),
      write,
      may('systemctl', '--user', 'daemon-reload'),
      may('systemctl', '--user', before.isActive ? 'restart' : 'stop', name),
    ]
  }
  if (target === 'launchd') {
    const domain = `gui/${uid}`
    const load = before.isActive ? [may('launchctl', 'bootstrap', domain, file)] : []
    return [may('launchctl', 'bootout', `${domain}/${name}`), write, ...load]
  }
  return [write, ...(before.isEnabled ? [may('schtasks', '/Create', '/TN', name, '/XML', file, '/F')] : [])]
}

/** Undoes the steps and says in words what state is left. */
function restore(
  place: ServicePlace,
  before: Before,
  done: readonly Done[],
  uid: number,
  run: Runner,
): string {
  const isWritten = done.some(({ step }) => step.kind === 'write')
  try {
    if (isWritten) for (const step of undoSteps(place, before, uid)) perform(step, run)
  } catch (error) {
    return `the previous state could not be restored, and ${place.file} was left: ${error instanceof Error ? error.message : String(error)}`
  }
  for (const { step, made } of done.toReversed()) {
    if (step.kind === 'directory' && made !== undefined) removeEmpty(step.path, made)
  }
  return before === undefined ? `${place.name} was removed again` : `the previous ${place.name} was restored`
}

/** Removes a directory and its parents up to the uppermost that was created. */
function removeEmpty(path: string, uppermost: string): void {
  try {
    fs.rmdirSync(path)
    if (path !== uppermost) removeEmpty(dirname(path), uppermost)
  } catch {
    // The service put a file there meanwhile: keep it.
  }
}

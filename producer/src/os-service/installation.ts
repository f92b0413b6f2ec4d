import { readFileSync, rmdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { KimError } from '@kim/manifest'
import { type Done, perform, type Runner } from './host.js'
import { type InstallStep, uninstallSteps } from './install-plan.js'
import type { ServicePlace } from './target.js'

/** A service that stood before another one was installed in its place. */
interface Before {
  readonly bytes: Buffer
  readonly isEnabled: boolean
  readonly isActive: boolean
}

/**
 * Installs a service, or leaves what was there before: a file that no supervisor took would look like a service that
 * runs. Gives the steps that were done.
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
      if (step.kind === 'run' && step.extra !== undefined) throw error
      throw told(error, takeBack(place, before, done, uid, run))
    }
  }
  return done
}

function serviceBefore({ target, name, file }: ServicePlace, uid: number, run: Runner): Before | undefined {
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
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

/** What brings back the state that an installation found, as far as anybody can be told. */
function undoSteps(place: ServicePlace, before: Before | undefined, uid: number): InstallStep[] {
  const { target, name, file } = place
  const may = (...command: string[]): InstallStep => ({ kind: 'run', command, mayFail: true })
  const systemctl = (...words: string[]): InstallStep => may('systemctl', '--user', ...words)
  if (before === undefined) {
    const gone = uninstallSteps(place, uid)
    return target === 'systemd-user' ? [...gone, systemctl('reset-failed', name)] : gone
  }
  const write: InstallStep = { kind: 'write', path: file, bytes: before.bytes }
  if (target === 'systemd-user') {
    return [
      ...(before.isEnabled ? [] : [systemctl('disable', name)]),
      write,
      systemctl('daemon-reload'),
      ...(before.isActive ? [systemctl('restart', name)] : [systemctl('stop', name)]),
    ]
  }
  if (target === 'launchd') {
    const domain = `gui/${uid}`
    const load = before.isActive ? [may('launchctl', 'bootstrap', domain, file)] : []
    return [may('launchctl', 'bootout', `${domain}/${name}`), write, ...load]
  }
  return [write, ...(before.isEnabled ? [may('schtasks', '/Create', '/TN', name, '/XML', file, '/F')] : [])]
}

/** Says what is left in words, having left as little as can be. */
function takeBack(
  place: ServicePlace,
  before: Before | undefined,
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

/** From a directory up to the uppermost that was made; the first that holds something ends it. */
function removeEmpty(path: string, uppermost: string): void {
  try {
    rmdirSync(path)
    if (path !== uppermost) removeEmpty(dirname(path), uppermost)
  } catch {
    // The service put something there meanwhile: that is kept.
  }
}

function told(error: unknown, left: string): unknown {
  if (!(error instanceof Error)) return error
  const message = `${error.message}; ${left}`
  if (error instanceof KimError) return new KimError(error.code, message, { hint: error.hint, cause: error })
  const isDenied = 'code' in error && (error.code === 'EACCES' || error.code === 'EPERM')
  return new KimError(isDenied ? 'not_permitted' : 'service_failed', message, { cause: error })
}

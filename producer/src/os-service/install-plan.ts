import { dirname, join } from 'node:path'
import { launchdPlist } from './launchd-plist.js'
import type { ServiceSpec } from './spec.js'
import { type SystemdFeatures, systemdUnit } from './systemd-unit.js'
import type { ServicePlace, ServiceTarget } from './target.js'
import { windowsTask, windowsTaskBytes } from './windows-task.js'

/** One thing an installation does, in a form that can be printed instead of done. */
export type InstallStep =
  | { readonly kind: 'directory'; readonly path: string }
  | { readonly kind: 'write'; readonly path: string; readonly bytes: Buffer }
  | { readonly kind: 'remove'; readonly path: string }
  | {
      readonly kind: 'run'
      readonly command: readonly string[]
      /** True where a refusal only says that there was nothing to do, or nobody to tell. */
      readonly mayFail?: true
      /** Done in its place where it is refused. */
      readonly otherwise?: readonly InstallStep[]
      /** Present where the service stands without it: its refusal takes nothing back, and this is what to do about it. */
      readonly extra?: { readonly lacks: string; readonly hint: string }
    }

/** What an installation depends on besides the service itself. */
export interface InstallContext {
  readonly user: string
  readonly uid: number
  /** Where launchd is to put what the service prints. */
  readonly logFile: string
  readonly systemd: SystemdFeatures
}

/** The choices of whoever installs. */
export interface InstallChoices {
  /** False leaves the service for the next login. */
  readonly start: boolean
  /** Keeps it running when nobody is logged in. */
  readonly linger: boolean
}

/** The file that describes the service to its supervisor. */
export function serviceText(target: ServiceTarget, spec: ServiceSpec, around: InstallContext): string {
  if (target === 'systemd-user') return systemdUnit(spec, around.systemd)
  if (target === 'launchd') return launchdPlist(spec, around.logFile)
  return windowsTask(spec, around.user)
}

/** What has to be done to install a service; doing it again brings the same state. */
export function installSteps(
  place: ServicePlace,
  spec: ServiceSpec,
  around: InstallContext,
  { start, linger }: InstallChoices,
): InstallStep[] {
  const { target } = place
  const text = serviceText(target, spec, around)
  const bytes = target === 'windows-task' ? windowsTaskBytes(text) : Buffer.from(text)
  const directories = [spec.storeDir, ...spec.writes, dirname(place.file)]
  if (target === 'launchd') directories.push(dirname(around.logFile))
  const steps: InstallStep[] = [
    ...directories.map((path): InstallStep => ({ kind: 'directory', path })),
    { kind: 'write', path: place.file, bytes },
  ]
  if (target === 'systemd-user') {
    steps.push({ kind: 'run', command: ['systemctl', '--user', 'daemon-reload'] })
    steps.push({ kind: 'run', command: ['systemctl', '--user', 'enable', place.name] })
    // A service that runs already goes on with its old file unless it is started anew.
    if (start) steps.push({ kind: 'run', command: ['systemctl', '--user', 'restart', place.name] })
    if (linger) steps.push(lingerStep(around.user))
  } else if (target === 'launchd') {
    const domain = `gui/${around.uid}`
    steps.push({ kind: 'run', command: ['launchctl', 'bootout', `${domain}/${place.name}`], mayFail: true })
    if (start) steps.push({ kind: 'run', command: ['launchctl', 'bootstrap', domain, place.file] })
  } else {
    steps.push({
      kind: 'run',
      command: ['schtasks', '/Create', '/TN', place.name, '/XML', place.file, '/F'],
    })
    if (start) steps.push({ kind: 'run', command: ['schtasks', '/Run', '/TN', place.name] })
  }
  return steps
}

/** Left to be an administrator's where the user may not: what stands goes on without it. */
function lingerStep(user: string): InstallStep {
  const command = ['loginctl', 'enable-linger', user]
  const extra = {
    lacks: 'the service is installed, but it ends when you log out',
    hint: `ask an administrator to run: sudo ${command.join(' ')}`,
  }
  return { kind: 'run', command, extra }
}

/** What has to be done to have the service gone. The store stays. */
export function uninstallSteps({ target, name, file }: ServicePlace, uid: number): InstallStep[] {
  if (target === 'systemd-user') {
    // What `disable` takes away, should there be no systemd to ask.
    const link = join(dirname(file), 'default.target.wants', name)
    return [
      {
        kind: 'run',
        command: ['systemctl', '--user', 'disable', '--now', name],
        mayFail: true,
        otherwise: [{ kind: 'remove', path: link }],
      },
      { kind: 'remove', path: file },
      { kind: 'run', command: ['systemctl', '--user', 'daemon-reload'], mayFail: true },
    ]
  }
  if (target === 'launchd') {
    return [
      { kind: 'run', command: ['launchctl', 'bootout', `gui/${uid}/${name}`], mayFail: true },
      { kind: 'remove', path: file },
    ]
  }
  return [
    { kind: 'run', command: ['schtasks', '/End', '/TN', name], mayFail: true },
    { kind: 'run', command: ['schtasks', '/Delete', '/TN', name, '/F'], mayFail: true },
    { kind: 'remove', path: file },
  ]
}

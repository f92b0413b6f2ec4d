import { isAbsolute, join } from 'node:path'
import { KimError } from '@kim/manifest'
import { launchdLabel } from './launchd-plist.js'
import { systemdUnitName } from './systemd-unit.js'
import { windowsTaskName } from './windows-task.js'

/** The supervisors a user has of their own, one a platform. */
export const SERVICE_TARGETS = ['systemd-user', 'launchd', 'windows-task'] as const
export type ServiceTarget = (typeof SERVICE_TARGETS)[number]

type Environment = Readonly<Record<string, string | undefined>>

/** Which supervisor a platform has. */
export function targetOf(platform: string): ServiceTarget {
  if (platform === 'linux') return 'systemd-user'
  if (platform === 'darwin') return 'launchd'
  if (platform === 'win32') return 'windows-task'
  throw new KimError('config_invalid', `no supervisor of ${platform} is known`, {
    hint: 'name one with --target and print its file with --print, or run kim-producer run under your own supervisor',
  })
}

/** A service's name where its supervisor keeps it, and the file that describes it. */
export interface ServicePlace {
  readonly target: ServiceTarget
  readonly name: string
  readonly file: string
}

/** Where a supervisor looks for a user's services. */
export function servicePlace(
  target: ServiceTarget,
  instance: string | undefined,
  env: Environment,
  home: string,
): ServicePlace {
  if (target === 'systemd-user') {
    const name = systemdUnitName(instance)
    // As with all of these variables, a relative one counts for nothing.
    const chosen = env['XDG_CONFIG_HOME']
    const config = chosen !== undefined && isAbsolute(chosen) ? chosen : join(home, '.config')
    return { target, name, file: join(config, 'systemd', 'user', name) }
  }
  if (target === 'launchd') {
    const name = launchdLabel(instance)
    return { target, name, file: join(home, 'Library', 'LaunchAgents', `${name}.plist`) }
  }
  const name = windowsTaskName(instance)
  const local = env['LOCALAPPDATA'] || join(home, 'AppData', 'Local')
  return { target, name, file: join(local, 'KIM', `${name.split('\\').at(-1)}.xml`) }
}

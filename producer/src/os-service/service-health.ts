import { lstatSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Runner } from './host.js'
import type { ServicePlace } from './target.js'

/** What a supervisor makes of a service's file. */
export interface ServiceHealth {
  /** Undefined where the supervisor cannot be asked and nothing else tells. */
  readonly isWell: boolean | undefined
  /** What follows the service's name. */
  readonly words: string
  readonly remedy?: string
}

/** Asks the supervisor: a file alone starts nothing. */
export function serviceHealthOf(place: ServicePlace, uid: number, run: Runner): ServiceHealth {
  if (place.target === 'systemd-user') return bySystemd(place, run)
  const { name, file } = place
  const [question, remedy] =
    place.target === 'launchd'
      ? [['launchctl', 'print', `gui/${uid}/${name}`], `launchctl bootstrap gui/${uid} ${file}`]
      : [['schtasks', '/Query', '/TN', name], `schtasks /Create /TN ${name} /XML ${file} /F`]
  const { status, output } = run(question)
  if (status === 0) return { isWell: true, words: 'is loaded' }
  if (status === null) return { isWell: undefined, words: `has an unknown state: ${output}` }
  return {
    isWell: false,
    words: 'has a file, but the supervisor has not loaded it and does not start it',
    remedy,
  }
}

const PROPERTIES = ['LoadState', 'UnitFileState', 'ActiveState', 'NeedDaemonReload', 'Result']

function bySystemd({ name, file }: ServicePlace, run: Runner): ServiceHealth {
  const { status, output } = run(['systemctl', '--user', 'show', name, `--property=${PROPERTIES.join(',')}`])
  if (status !== 0) return unasked(name, file, output)
  const of = (property: string): string => new RegExp(`^${property}=(.*)$`, 'm').exec(output)?.[1] ?? ''
  if (of('LoadState') !== 'loaded') {
    return {
      isWell: false,
      words: `is not loaded (${of('LoadState')}): systemd does not start it`,
      remedy: `systemctl --user daemon-reload && systemctl --user enable --now ${name}`,
    }
  }
  if (of('UnitFileState') !== 'enabled') return disabled(name, of('UnitFileState'))
  if (of('NeedDaemonReload') === 'yes') {
    return {
      isWell: false,
      words: 'was changed after systemd read it',
      remedy: `systemctl --user daemon-reload && systemctl --user restart ${name}`,
    }
  }
  const state = of('ActiveState')
  if (state === 'failed') {
    return {
      isWell: false,
      words: `failed (${of('Result')}) and is not restarted`,
      remedy: `read its log: journalctl --user -u ${name} -e; then: systemctl --user restart ${name}`,
    }
  }
  if (state === 'inactive') {
    return { isWell: false, words: 'is enabled, but does not run', remedy: `systemctl --user start ${name}` }
  }
  return { isWell: true, words: `is enabled and ${state}` }
}

/** The link that enabling makes tells even where nobody answers. */
function unasked(name: string, file: string, why: string): ServiceHealth {
  const link = join(dirname(file), 'default.target.wants', name)
  if (lstatSync(link, { throwIfNoEntry: false }) === undefined) return disabled(name, 'no link')
  return { isWell: undefined, words: `is enabled, but systemd does not answer: ${why}` }
}

function disabled(name: string, state: string): ServiceHealth {
  return {
    isWell: false,
    words: `is installed, but not enabled (${state}): systemd does not start it after a crash or a login`,
    remedy: `systemctl --user enable --now ${name}; or run kim-producer install-service again with the same flags`,
  }
}

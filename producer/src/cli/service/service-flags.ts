import { homedir, userInfo } from 'node:os'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Input, type Io, shellWord, usageError } from '@kim/cli-kit'
import { defaultStateHome, storePaths } from '@kim/manifest'
import { socketPathOf } from '../../control/socket-path.js'
import {
  probeSystemd,
  type ServicePlace,
  type ServiceTarget,
  servicePlace,
  systemRunner,
  targetOf,
} from '../../os-service/supervisors.js'
import type { InstallContext, ServiceSpec } from '../../os-service/unit-text.js'
import type { RunOptions, SinkOptions } from '../run/check-flags.js'
import { runFlags } from '../run/flags.js'

/** The service that `--target` and `--name` choose. */
export function chosenService(
  input: Input,
  io: Io,
): { readonly instance: string | undefined; readonly place: ServicePlace } {
  const asked = input.text('target') ?? 'auto'
  const target = asked === 'auto' ? targetOf(process.platform) : (asked as ServiceTarget)
  const instance = input.text('name')
  if (instance !== undefined && !/^[A-Za-z0-9_.-]{1,64}$/.test(instance)) {
    throw usageError(`--name cannot be "${instance}"`, 'use letters, digits, "_", "." and "-"')
  }
  return { instance, place: servicePlace(target, instance, io.env, homedir()) }
}

/** A service does not see the variables of this shell. */
export function refuseShellToken({ server }: RunOptions): void {
  const isHosted = server.dialect === 'hosted' || server.url === 'https://api.kijito.ai'
  if (isHosted && server.tokenFile === undefined) {
    throw usageError(
      'a service cannot read the token from a variable of this shell: it needs a file',
      'write the token into a file of mode 0600, then add --token-file F',
    )
  }
}

/** The service that the flags of `run` describe. */
export function serviceSpec(
  input: Input,
  { storeDir, sinks }: RunOptions,
  instance: string | undefined,
  io: Io,
): ServiceSpec {
  return {
    instance,
    node: process.execPath,
    nodeOptions: process.allowedNodeEnvironmentFlags.has('--disable-sigusr1') ? ['--disable-sigusr1'] : [],
    script: ownScript(fileURLToPath(new URL('../../../bin/kim-producer.js', import.meta.url))),
    args: runArgs(input, storeDir),
    storeDir,
    writes: writtenDirectories(sinks),
    stateHome: defaultStateHome(io.env, homedir()),
    runtimeDirectory: runtimeDirectory(storeDir),
  }
}

/** The path of the launcher, if it is permanent. */
export function ownScript(path: string): string {
  if (!path.split(sep).includes('_npx')) return path
  throw usageError(
    'cannot install a service from the npx cache: npx clears it from time to time',
    'install the package first, then run install-service from that installation',
  )
}

/** The directories that the service writes to, apart from its store: of its sinks' files and of their watermarks. */
function writtenDirectories(sinks: SinkOptions): string[] {
  const { activityFile, command, eventsFile, ledgerDir, printsEvents } = sinks
  const files = [eventsFile, activityFile].filter(file => file !== undefined)
  const directories = files.map(file => dirname(`${file.split('{persona}', 1)[0]}x`))
  const hasSink = printsEvents || command !== undefined || eventsFile !== undefined
  const ledgers = hasSink ? [ledgerDir] : []
  return [...new Set([...directories, ...ledgers])]
}

/** The directory of the control socket, if the store's path is too long for one (CP-2). */
function runtimeDirectory(storeDir: string): string | undefined {
  // Any short directory will do: the supervisor sets the real one.
  const options = { platform: process.platform, env: { XDG_RUNTIME_DIR: '/run' } }
  const { kind, path } = socketPathOf(storePaths(storeDir), options)
  return kind === 'elsewhere' ? basename(dirname(path)) : undefined
}

/** The user of this process. A user without a name is called by its number, which supervisors accept. */
export function account(): { readonly username: string; readonly uid: number } {
  try {
    return userInfo()
  } catch {
    const uid = process.getuid?.() ?? -1
    return { username: String(uid), uid }
  }
}

/** What the text of a service depends on: the user and the supervisor of this machine. */
export function installContext(input: Input, target: ServiceTarget): InstallContext {
  const home = homedir()
  const { username, uid } = account()
  const systemd =
    target === 'systemd-user'
      ? probeSystemd(systemRunner, home)
      : { version: 0, notify: false, sandbox: false }
  // The command may have to write anywhere.
  return {
    user: username,
    uid,
    logFile: join(home, 'Library', 'Logs', 'KIM', 'producer.log'),
    systemd: { ...systemd, sandbox: systemd.sandbox && !input.given('exec') },
  }
}

/** A flag and its value. */
type Given = readonly [flag: string, value?: string]

/**
 * The arguments of the service: `run` with the given flags, always with the store. Paths are absolute, because a
 * service starts in another directory.
 */
function runArgs(input: Input, storeDir: string): string[] {
  return [
    'run',
    `--store=${storeDir}`,
    ...given(input).map(([flag, value]) => (value === undefined ? flag : `${flag}=${value}`)),
  ]
}

/** The given flags of `run` apart from the store, as they are typed. A remedy must not start a different producer. */
export function runWords(input: Input): string[] {
  return given(input).map(([flag, value]) => {
    if (value === undefined) return flag
    return `${flag}${value.startsWith('-') ? '=' : ' '}${shellWord(value)}`
  })
}

function given(input: Input): Given[] {
  const flags = runFlags.filter(({ name }) => name !== 'store' && input.given(name))
  return flags.flatMap(({ name, kind, many, commas }): Given[] => {
    const flag = `--${name}`
    if (kind === 'boolean') return [[flag]]
    if (many === true) {
      return input
        .list(name)
        .map((value): Given => [flag, commas === false ? value : value.replaceAll(',', '\\,')])
    }
    if (kind === 'path') return [[flag, resolve(input.text(name) ?? '')]]
    return [[flag, String(kind === 'string' ? input.text(name) : input.number(name))]]
  })
}

import { homedir, userInfo } from 'node:os'
import { basename, dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Input, type Io, usageError } from '@kim/cli-kit'
import { defaultStateHome, storePaths } from '@kim/manifest'
import { socketPathOf } from '../../control/socket-path.js'
import type { InstallContext, ServiceSpec } from '../../os-service/service-text.js'
import {
  probeSystemd,
  type ServicePlace,
  type ServiceTarget,
  servicePlace,
  systemRunner,
  targetOf,
} from '../../os-service/supervisors.js'
import { runFlags } from '../run/flags.js'
import type { RunOptions } from '../run/options.js'
import type { SinkOptions } from '../run/sink-options.js'
import { runArgs } from './run-args.js'

/** Which service of which supervisor a command is about. */
export interface Chosen {
  readonly instance: string | undefined
  readonly place: ServicePlace
}

/** The supervisor and the name, from the flags. */
export function chosenService(input: Input, io: Io): Chosen {
  const asked = input.text('target') ?? 'auto'
  const target = asked === 'auto' ? targetOf(process.platform) : (asked as ServiceTarget)
  const instance = input.text('name')
  if (instance !== undefined && !/^[A-Za-z0-9_.-]{1,64}$/.test(instance)) {
    throw usageError(`--name cannot be "${instance}"`, 'use letters, digits, "_", "." and "-"')
  }
  return { instance, place: servicePlace(target, instance, io.env, homedir()) }
}

/** The token of a service cannot be one of this shell's variables. */
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

/** The launcher, where it is going to stay. */
export function ownScript(path: string): string {
  if (!path.split(sep).includes('_npx')) return path
  throw usageError(
    'cannot install a service from the npx cache: npx clears it from time to time',
    'install the package first, then run install-service from that installation',
  )
}

/**
 * Where the service writes besides its store: the directories of its sinks' files, up to one that a persona names,
 * and that of their watermarks.
 */
function writtenDirectories({
  activityFile,
  command,
  eventsFile,
  ledgerDir,
  printsEvents,
}: SinkOptions): string[] {
  const files = [eventsFile, activityFile].filter(file => file !== undefined)
  const directories = files.map(file => dirname(`${file.split('{persona}', 1)[0]}x`))
  const hasSink = printsEvents || command !== undefined || eventsFile !== undefined
  const ledgers = hasSink ? [ledgerDir] : []
  return [...new Set([...directories, ...ledgers])]
}

/** The directory of the control socket, where the store's path is too long for one (CP-2). */
function runtimeDirectory(storeDir: string): string | undefined {
  // Any short one: the service is given its user's.
  const options = { platform: process.platform, env: { XDG_RUNTIME_DIR: '/run' } }
  const { kind, path } = socketPathOf(storePaths(storeDir), options)
  return kind === 'elsewhere' ? basename(dirname(path)) : undefined
}

/** Who asks. A number that the system has no name for is a user too, and supervisors take the number. */
export function account(): { readonly username: string; readonly uid: number } {
  try {
    return userInfo()
  } catch {
    const uid = process.getuid?.() ?? -1
    return { username: String(uid), uid }
  }
}

/** What this machine and this user are like. */
export function surroundings(input: Input, target: ServiceTarget): InstallContext {
  const home = homedir()
  const { username, uid } = account()
  const systemd =
    target === 'systemd-user'
      ? probeSystemd(systemRunner, home)
      : { version: 0, notify: false, sandbox: false }
  // A command of the operator's may have to write anywhere.
  const runsCommands = runFlags.some(({ name }) => name === 'exec') && input.given('exec')
  return {
    user: username,
    uid,
    logFile: join(home, 'Library', 'Logs', 'KIM', 'producer.log'),
    systemd: { ...systemd, sandbox: systemd.sandbox && !runsCommands },
  }
}

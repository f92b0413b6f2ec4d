import { existsSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Input, type Io, safeText, shellWord, usageError } from '@kim/cli-kit'
import { defaultStateHome, KimError, storePaths } from '@kim/manifest'
import { socketPathOf } from '../control/socket-path.js'
import {
  type Done,
  type InstallStep,
  install,
  installSteps,
  perform,
  uninstallSteps,
} from '../os-service/install.js'
import { installedServices, servicesOn } from '../os-service/installed-services.js'
import {
  isBusless,
  lingers,
  NO_BUS_HINT,
  probeSystemd,
  type ServicePlace,
  type ServiceTarget,
  type SystemdFeatures,
  servicePlace,
  systemRunner,
  targetOf,
} from '../os-service/supervisors.js'
import { type InstallContext, type ServiceSpec, serviceText } from '../os-service/unit-text.js'
import type { RunLog } from '../run/run-log.js'
import { judgeFlags, type RunOptions, runOptions, type SinkOptions } from './run/check-flags.js'
import { runFlags } from './run/flags.js'
import { lastSign } from './running-producer.js'
import { report, storeCommand } from './store-flags.js'

/** `install-service`: installs `kim-producer run` as a service of the user. */
export async function installService(input: Input, io: Io): Promise<number> {
  const { instance, place } = chosenService(input, io)
  const { target } = place
  const isDry = input.bool('dry-run')
  const warnings: string[] = []
  const warn = (message: string): void => {
    warnings.push(message)
    io.stderr.write(`kim-producer: ${safeText(message)}\n`)
  }
  const spec = serviceSpec(input, await judged(input, io, warn), instance, io)
  const context = installContext(input, target)
  if (input.bool('print')) {
    const text = serviceText(target, spec, context)
    const facts = { target, name: place.name, file: place.file, text, warnings }
    if (input.bool('json')) report(input, io, facts, [])
    else io.stdout.write(text)
    return 0
  }
  refuseSecond(place, spec.storeDir, io)
  const choices = { start: !input.bool('no-start'), linger: input.bool('linger') }
  if (choices.start) refuseHeld(place, spec.storeDir)
  const steps = installSteps(place, spec, context, choices)
  const done = isDry ? planned(steps) : install(place, steps, context.uid, systemRunner)
  const { sandbox, untried } = context.systemd
  if (isDry && untried !== undefined && isBusless(untried)) {
    warn(`installing would fail now: ${untried}; ${NO_BUS_HINT}`)
  }
  const facts = {
    target,
    name: place.name,
    file: place.file,
    dry_run: isDry,
    sandbox: target === 'systemd-user' && untried === undefined ? sandbox : null,
    warnings,
    steps: done.map(stepFacts),
  }
  report(input, io, facts, [
    ...done.map(stepLine),
    ...(target === 'systemd-user' ? [sandboxLine(context.systemd, input.given('exec'))] : []),
    isDry
      ? 'nothing was changed'
      : `${place.name} is installed; check it with: ${storeCommand('kim-producer status', spec.storeDir, io.env)}`,
    ...(target === 'systemd-user' && !choices.linger && lingers(systemRunner, context.user) === false
      ? ['the service ends when you log out; to keep it running, add --linger']
      : []),
  ])
  return 0
}

/**
 * Checks the flags as `run` does, so that the service does not fail to start. With `--print` only a usage error counts:
 * the token may not exist yet, and the unit may be for another machine.
 */
async function judged(input: Input, io: Io, warn: (message: string) => void): Promise<RunOptions> {
  const isPrint = input.bool('print')
  const eventsFile = isPrint || input.bool('dry-run') ? 'leave' : 'judge'
  const log: RunLog = ({ message }) => warn(message)
  refuseShellToken(runOptions(input, io))
  try {
    const { options, source } = await judgeFlags(input, io, { log, env: {}, eventsFile })
    source.close()
    return options
  } catch (error) {
    if (!isPrint || !(error instanceof KimError) || error.code === 'usage') throw error
    warn(`this service would fail to start now: ${error.message}`)
    return runOptions(input, io)
  }
}

/** Two services on one store: the second would fail and be restarted for ever. One name has one store (CL-57). */
function refuseSecond(place: ServicePlace, storeDir: string, io: Io): void {
  const all = installedServices(place, io.env, homedir())
  const onStore = servicesOn(storeDir, all)
  const own = all.find(({ file }) => file === place.file)
  if (own !== undefined && !onStore.includes(own))
    throw new KimError('config_invalid', `${own.name} already runs a producer on ${own.storeDir}`, {
      hint: `nothing was installed; give this service another name: --name NAME; or remove that one first: ${own.removal}`,
    })
  const other = onStore.find(one => one !== own)
  if (other === undefined) return
  throw new KimError('config_invalid', `${other.name} is already installed for ${storeDir}`, {
    hint: `nothing was installed; remove that service first (${other.removal}), or give this one a store of its own: --store DIR`,
  })
}

/** Another running producer holds the store. The service of this name does not count, because it is restarted. */
function refuseHeld({ name, file }: ServicePlace, storeDir: string): void {
  const { state, pid } = lastSign(storePaths(storeDir), Date.now())
  if (existsSync(file) || (state !== 'running' && state !== 'hung')) return
  throw new KimError(
    'store_held',
    `cannot install ${name}: process ${pid} already runs a producer on ${storeDir}`,
    {
      hint: `nothing was installed; stop that producer first: kim-producer shutdown --store ${shellWord(storeDir)} (or install with --no-start)`,
    },
  )
}

function sandboxLine({ sandbox, untried }: SystemdFeatures, runsCommand: boolean): string {
  if (runsCommand) return 'the unit has no sandbox, because the command of --exec may write anywhere'
  if (untried !== undefined) return `the unit has no sandbox, because it could not be tested: ${untried}`
  return sandbox
    ? 'the unit has a sandbox (tested): in your home it can write only its store and the directories of its sinks'
    : 'the unit has no sandbox: this systemd does not support it for user units (tested)'
}

/** `uninstall-service`: stops the service and removes its file. The store stays. */
export function uninstallService(input: Input, io: Io): number {
  const { place } = chosenService(input, io)
  const isDry = input.bool('dry-run')
  const wasThere = existsSync(place.file)
  const steps = wasThere ? uninstallSteps(place, account().uid) : []
  const done = isDry ? planned(steps) : steps.flatMap(step => perform(step, systemRunner))
  const facts = {
    target: place.target,
    name: place.name,
    file: place.file,
    dry_run: isDry,
    was_installed: wasThere,
    steps: done.map(stepFacts),
  }
  // Other supervisors fail if the service does not run. systemd fails only if it cannot be reached.
  const isUnreached = place.target === 'systemd-user' && done.some(({ refused }) => refused !== undefined)
  const last = !wasThere
    ? `${place.name} is not installed: there is no ${place.file}`
    : isDry
      ? 'nothing was changed'
      : isUnreached
        ? `${place.name} is removed, but systemd could not be reached; if its producer still runs: kim-producer shutdown (with its --store)`
        : `${place.name} is removed; its store is kept`
  report(input, io, facts, [...done.map(stepLine), last])
  return 0
}

/** A step as a person reads it, before or after it is done. */
function stepLine({ step, refused }: Done): string {
  if (step.kind === 'directory') return `make    ${step.path}`
  if (step.kind === 'write') return `write   ${step.path}`
  if (step.kind === 'remove') return `remove  ${step.path}`
  const command = step.command.join(' ')
  return refused === undefined ? `run     ${command}` : `refused ${command}: ${refused}`
}

/** A step as a program reads it. */
function stepFacts({ step, refused }: Done): Readonly<Record<string, unknown>> {
  if (step.kind === 'write') return { do: 'write', path: step.path, bytes: step.bytes.length }
  if (step.kind !== 'run') return { do: step.kind, path: step.path }
  return { do: 'run', command: step.command, ...(refused === undefined ? {} : { refused }) }
}

/** The steps of a dry run (CL-19). An existing directory needs no step. */
function planned(steps: readonly InstallStep[]): Done[] {
  return steps.filter(step => step.kind !== 'directory' || !existsSync(step.path)).map(step => ({ step }))
}

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
    script: ownScript(fileURLToPath(new URL('../../bin/kim-producer.js', import.meta.url))),
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

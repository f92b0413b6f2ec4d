import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { type Input, type Io, safeText, shellWord } from '@kim/cli-kit'
import { KimError, storePaths } from '@kim/manifest'
import {
  type Done,
  type InstallStep,
  install,
  installSteps,
  perform,
  uninstallSteps,
} from '../../os-service/install.js'
import { installedServices, servicesOn } from '../../os-service/installed-services.js'
import {
  isBusless,
  lingers,
  NO_BUS_HINT,
  type ServicePlace,
  type SystemdFeatures,
  systemRunner,
} from '../../os-service/supervisors.js'
import { serviceText } from '../../os-service/unit-text.js'
import type { RunLog } from '../../run/run-log.js'
import { judgeFlags, type RunOptions, runOptions } from '../run/check-flags.js'
import { lastSign } from '../running-producer.js'
import { report, storeCommand } from '../store-flags.js'
import { account, chosenService, installContext, refuseShellToken, serviceSpec } from './service-flags.js'

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

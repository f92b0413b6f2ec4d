import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { type Input, type Io, safeText, shellWord } from '@kim/cli-kit'
import { KimError, storePaths } from '@kim/manifest'
import { install, installSteps } from '../../os-service/install.js'
import { installedServices, servicesOn } from '../../os-service/installed.js'
import { serviceText } from '../../os-service/service-text.js'
import {
  isBusless,
  NO_BUS_HINT,
  type ServicePlace,
  type SystemdFeatures,
  systemRunner,
} from '../../os-service/supervisors.js'
import type { RunLog } from '../../run/run-log.js'
import { report } from '../report.js'
import { judgeFlags } from '../run/judge-flags.js'
import { type RunOptions, runOptions } from '../run/options.js'
import { lastSign } from '../status/last-sign.js'
import { storeCommand } from '../store-flags.js'
import { chosenService, refuseShellToken, serviceSpec, surroundings } from './chosen-service.js'
import { planned, stepFacts, stepLine } from './steps.js'

/** Puts `kim-producer run` under the user's own supervisor. */
export async function run(input: Input, io: Io): Promise<number> {
  const { instance, place } = chosenService(input, io)
  const { target } = place
  const isDry = input.bool('dry-run')
  const warnings: string[] = []
  const warn = (message: string): void => {
    warnings.push(message)
    io.stderr.write(`kim-producer: ${safeText(message)}\n`)
  }
  const spec = serviceSpec(input, await judged(input, io, warn), instance, io)
  const around = surroundings(input, target)
  if (input.bool('print')) {
    const text = serviceText(target, spec, around)
    const facts = { target, name: place.name, file: place.file, text, warnings }
    if (input.bool('json')) report(input, io, facts, [])
    else io.stdout.write(text)
    return 0
  }
  refuseSecond(place, spec.storeDir, io)
  const choices = { start: !input.bool('no-start'), linger: input.bool('linger') }
  if (choices.start) refuseHeld(place, spec.storeDir)
  const steps = installSteps(place, spec, around, choices)
  const done = isDry ? planned(steps) : install(place, steps, around.uid, systemRunner)
  const { sandbox, untried } = around.systemd
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
    ...(target === 'systemd-user' ? wallsLines(around.systemd, input.given('exec')) : []),
    isDry
      ? 'nothing was changed'
      : `${place.name} is installed; check it with: ${storeCommand('kim-producer status', spec.storeDir, io.env)}`,
    ...(target === 'systemd-user' && !choices.linger ? [LINGER_HINT] : []),
  ])
  return 0
}

/**
 * What `run` would refuse with these flags is refused before a supervisor meets it. Its token may not be there yet, and
 * its server is asked for from another place, when somebody only looks at the unit.
 */
async function judged(input: Input, io: Io, warn: (message: string) => void): Promise<RunOptions> {
  const isLook = input.bool('print')
  const eventsFile = isLook || input.bool('dry-run') ? 'leave' : 'judge'
  const log: RunLog = ({ message }) => warn(message)
  refuseShellToken(runOptions(input, io))
  try {
    const { options, source } = await judgeFlags(input, io, { log, env: {}, eventsFile })
    source.close()
    return options
  } catch (error) {
    if (!isLook || !(error instanceof KimError) || error.code === 'usage') throw error
    warn(`this service would fail to start now: ${error.message}`)
    return runOptions(input, io)
  }
}

const LINGER_HINT = 'the service ends when you log out; to keep it running, add --linger'

/** Of two services for one store the second would be started again for ever, and refused each time. */
function refuseSecond(place: ServicePlace, storeDir: string, io: Io): void {
  const others = installedServices(place, io.env, homedir()).filter(({ file }) => file !== place.file)
  const [other] = servicesOn(storeDir, others)
  if (other === undefined) return
  throw new KimError('config_invalid', `${other.name} already runs a producer on ${storeDir}`, {
    hint: `nothing was installed; remove that service first (${other.removal}), or give this one a store of its own: --store DIR`,
  })
}

/** A service that stands may be the one that runs, and is started anew; any other producer would keep this one out. */
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

function wallsLines({ sandbox, untried }: SystemdFeatures, runsCommand: boolean): string[] {
  if (runsCommand) return ['the unit has no sandbox, because the command of --exec may write anywhere']
  if (untried !== undefined) {
    return [`the unit has no sandbox, because it could not be tested: ${untried}`]
  }
  return sandbox
    ? [
        'the unit has a sandbox (tested): in your home it can write only its store and the directories of its sinks',
      ]
    : ['the unit has no sandbox: this systemd does not support it for user units (tested)']
}

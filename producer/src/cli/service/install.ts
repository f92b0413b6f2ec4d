import type { Input, Io } from '@kim/cli-kit'
import { perform, systemRunner } from '../../service/host.js'
import { installSteps, serviceText } from '../../service/install-plan.js'
import { report } from '../report.js'
import { chosenService, serviceSpec, surroundings } from './service-of.js'
import { stepFacts, stepLine } from './steps.js'

/** Puts `kim-producer run` under the user's own supervisor. */
export function run(input: Input, io: Io): number {
  const { target, instance, place } = chosenService(input, io)
  const spec = serviceSpec(input, io, instance)
  const around = surroundings(input, target)
  if (input.bool('print')) {
    const text = serviceText(target, spec, around)
    if (input.bool('json')) report(input, io, { target, name: place.name, file: place.file, text }, [])
    else io.stdout.write(text)
    return 0
  }
  const choices = { start: !input.bool('no-start'), linger: input.bool('linger') }
  const steps = installSteps(target, place, spec, around, choices)
  const isDry = input.bool('dry-run')
  if (!isDry) for (const step of steps) perform(step, systemRunner)
  const walls = target === 'systemd-user' ? wallsLine(around.systemd.sandbox) : []
  const facts = {
    target,
    name: place.name,
    file: place.file,
    dry_run: isDry,
    sandbox: target === 'systemd-user' ? around.systemd.sandbox : null,
    steps: steps.map(stepFacts),
  }
  report(input, io, facts, [
    ...steps.map(stepLine),
    ...walls,
    isDry ? 'nothing was done' : `${place.name} is installed; see: kim-producer status`,
    ...(target === 'systemd-user' && !choices.linger ? [LINGER_HINT] : []),
  ])
  return 0
}

const LINGER_HINT = 'it ends when you log out; --linger keeps it running'

function wallsLine(isWalled: boolean): string[] {
  return isWalled
    ? ['it was tried: the unit can write its store and nothing else of your home']
    : ['it was tried: this systemd does not wall user units in, so the unit does not ask for it']
}

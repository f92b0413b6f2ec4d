import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import type { Input, Io } from '@kim/cli-kit'
import { perform, systemRunner } from '../../service/host.js'
import { uninstallSteps } from '../../service/install-plan.js'
import { report } from '../report.js'
import { chosenService } from './service-of.js'
import { stepFacts, stepLine } from './steps.js'

/** Ends the service and takes its description away; the store stays as it is. */
export function run(input: Input, io: Io): number {
  const { target, place } = chosenService(input, io)
  const isDry = input.bool('dry-run')
  const wasThere = existsSync(place.file)
  const steps = wasThere ? uninstallSteps(target, place, userInfo().uid) : []
  if (!isDry) for (const step of steps) perform(step, systemRunner)
  const facts = {
    target,
    name: place.name,
    file: place.file,
    dry_run: isDry,
    was_installed: wasThere,
    steps: steps.map(stepFacts),
  }
  const last = !wasThere
    ? `${place.name} is not installed: there is no ${place.file}`
    : isDry
      ? 'nothing was done'
      : `${place.name} is gone; its store is kept`
  report(input, io, facts, [...steps.map(stepLine), last])
  return 0
}

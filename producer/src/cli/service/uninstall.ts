import { existsSync } from 'node:fs'
import type { Input, Io } from '@kim/cli-kit'
import { perform, uninstallSteps } from '../../os-service/install.js'
import { systemRunner } from '../../os-service/supervisors.js'
import { report } from '../report.js'
import { account, chosenService } from './chosen-service.js'
import { planned, stepFacts, stepLine } from './steps.js'

/** Ends the service and takes its description away; the store stays as it is. */
export function run(input: Input, io: Io): number {
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
  // The other supervisors refuse to end what does not run; systemd, only if it cannot be asked at all.
  const isUntold = place.target === 'systemd-user' && done.some(({ refused }) => refused !== undefined)
  const last = !wasThere
    ? `${place.name} is not installed: there is no ${place.file}`
    : isDry
      ? 'nothing was changed'
      : isUntold
        ? `${place.name} is removed, but systemd could not be reached; if its producer still runs: kim-producer shutdown`
        : `${place.name} is removed; its store is kept`
  report(input, io, facts, [...done.map(stepLine), last])
  return 0
}

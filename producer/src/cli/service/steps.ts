import { existsSync } from 'node:fs'
import type { Done, InstallStep } from '../../os-service/install.js'

/** A step as a person reads it, before it is done or after. */
export function stepLine({ step, refused }: Done): string {
  if (step.kind === 'directory') return `make    ${step.path}`
  if (step.kind === 'write') return `write   ${step.path}`
  if (step.kind === 'remove') return `remove  ${step.path}`
  const command = step.command.join(' ')
  return refused === undefined ? `run     ${command}` : `refused ${command}: ${refused}`
}

/** A step as a program reads it. */
export function stepFacts({ step, refused }: Done): Readonly<Record<string, unknown>> {
  if (step.kind === 'write') return { do: 'write', path: step.path, bytes: step.bytes.length }
  if (step.kind !== 'run') return { do: step.kind, path: step.path }
  return { do: 'run', command: step.command, ...(refused === undefined ? {} : { refused }) }
}

/** Steps that nobody has done yet, in the shape of those that were (CL-19): what is there already is not made. */
export function planned(steps: readonly InstallStep[]): Done[] {
  return steps.filter(step => step.kind !== 'directory' || !existsSync(step.path)).map(step => ({ step }))
}

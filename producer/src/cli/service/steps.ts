import type { Step } from '../../service/install-plan.js'

/** A step as a person reads it, before it is done or after. */
export function stepLine(step: Step): string {
  if (step.kind === 'directory') return `make    ${step.path}`
  if (step.kind === 'write') return `write   ${step.path}`
  if (step.kind === 'remove') return `remove  ${step.path}`
  return `run     ${step.command.join(' ')}`
}

/** A step as a program reads it. */
export function stepFacts(step: Step): Readonly<Record<string, unknown>> {
  if (step.kind === 'run') return { do: 'run', command: step.command }
  return step.kind === 'write'
    ? { do: 'write', path: step.path, bytes: step.bytes.length }
    : { do: step.kind, path: step.path }
}

import { type Io, LineOutput } from '@kim/cli-kit'
import type { KimError } from '@kim/manifest'
import { Reporter } from './reporter.js'

/**
 * An agent's harness shows it nothing of stderr: a command that failed, or was told to end, must not look like one with
 * nothing to say.
 */
export async function tellAgent(reason: string, error: KimError | undefined, io: Io): Promise<void> {
  const out = new LineOutput(io.stdout)
  const report = new Reporter('agent', false, out, io.stderr)
  if (error !== undefined) report.error(error)
  report.end(reason)
  await out.flush()
}

/** Whether a command line that cannot be read was an agent's. */
export function isForAgent(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const line = argv.join('\n')
  const modes = [...line.matchAll(/^(?:--output[=\n]|-[a-zA-Z]*o=?\n?)(.*)$/gm)].map(([, mode]) => mode)
  return modes.length === 0 ? env['KIM_AGENT'] === '1' : modes.includes('agent')
}

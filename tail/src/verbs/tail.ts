/** `kim-tail` itself, and how an agent learns that it failed. */
import { asKimError, type Input, type Io, LineOutput, locateStore } from '@kim/cli-kit'
import { type Environment, KimError } from '@kim/manifest'
import { Reporter } from '../flow/reporter.js'
import { printRecords } from '../flow/session.js'
import { endOf } from '../flow/timetable.js'
import { modeOf, planOf } from '../plan.js'
import { withoutTags } from '../render/agent.js'

/** `kim-tail` itself. */
export async function run(input: Input, io: Io): Promise<number> {
  const around = { env: io.env, isTerminal: io.stdout.isTTY === true, nowMs: Date.now() }
  const isAgent = modeOf(input, around) === 'agent'
  try {
    return await printRecords(planOf(input, around), locateStore(input, io.env), io)
  } catch (error) {
    if (!isAgent) throw error
    const isEnded = io.signal.aborted && !(error instanceof KimError)
    const known = asKimError(error)
    await tellAgent(isEnded ? endOf(io.signal.reason) : 'error', isEnded ? undefined : known, io)
    if (isEnded) return 0
    throw new KimError(known.code, withoutTags(known.message), {
      cause: error,
      hint: withoutTags(known.hint),
    })
  }
}

/** An agent's harness does not show stderr: a command that failed must not look like one without news. */
export async function tellAgent(reason: string, error: KimError | undefined, io: Io): Promise<void> {
  const out = new LineOutput(io.stdout)
  const report = new Reporter('agent', false, out, io.stderr)
  if (error !== undefined) report.error(error)
  report.end(reason)
  await out.flush()
}

/** Whether a command line that cannot be parsed was an agent's. */
export function isForAgent(argv: readonly string[], env: Environment): boolean {
  const line = argv.join('\n')
  const modes = [...line.matchAll(/^(?:--output[=\n]|-[a-zA-Z]*o=?\n?)(.*)$/gm)].map(([, mode]) => mode)
  return modes.length === 0 ? env['KIM_AGENT'] === '1' : modes.includes('agent')
}

import type { Input, Io } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { listPast } from '../flow/listing.js'
import { LineOutput } from '../flow/output.js'
import { Reporter } from '../flow/reporter.js'
import { type Plan, planOf } from '../plan.js'
import { locateStore } from '../store-location.js'
import { VERB_NAMES } from '../verb-names.js'

/** `kim-tail` itself. */
export async function run(input: Input, io: Io): Promise<number> {
  const plan = planOf(input, VERB_NAMES, {
    env: io.env,
    isTerminal: io.stdout.isTTY === true,
    nowMs: Date.now(),
  })
  const location = locateStore(input, io.env)
  try {
    if (isLook(plan)) return await listPast(plan, location, io)
    // What follows needs much more code than a look does.
    const { follow } = await import('../flow/session.js')
    return await follow(plan, location, io)
  } catch (error) {
    const isEnded = await tellAgent(plan, error, io)
    if (isEnded) return 0
    throw error
  }
}

/** Whether it is enough to print what stands there, without a cursor or anything to wait for. */
function isLook({ exec, follow, position }: Plan): boolean {
  return !follow && exec === undefined && (position.kind === 'last' || position.kind === 'since')
}

/**
 * An agent's harness shows it nothing of stderr: a command that failed must not look like one with nothing to say.
 * True if it did not fail but was told to end.
 */
async function tellAgent(plan: Plan, error: unknown, io: Io): Promise<boolean> {
  if (plan.mode !== 'agent') return false
  const out = new LineOutput(io.stdout)
  const report = new Reporter(plan.mode, plan.quiet, out, io.stderr)
  const isEnded = io.signal.aborted && !(error instanceof KimError)
  if (error instanceof KimError) report.error(error)
  else if (!isEnded)
    report.error(new KimError('internal', error instanceof Error ? error.message : String(error)))
  report.end(isEnded ? String(io.signal.reason).toLowerCase() : 'error')
  await out.flush()
  return isEnded
}

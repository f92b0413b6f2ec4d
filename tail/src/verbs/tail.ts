import { asKimError, type Input, type Io, locateStore } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { endOf } from '../flow/end.js'
import { listPast } from '../flow/listing.js'
import { tellAgent } from '../flow/tell-agent.js'
import { modeOf, type Plan, planOf } from '../plan.js'
import { VERB_NAMES } from '../verb-names.js'

/** `kim-tail` itself. */
export async function run(input: Input, io: Io): Promise<number> {
  const around = { env: io.env, isTerminal: io.stdout.isTTY === true, nowMs: Date.now() }
  const isAgent = modeOf(input, around) === 'agent'
  try {
    const plan = planOf(input, VERB_NAMES, around)
    const location = locateStore(input, io.env)
    if (isLook(plan)) return await listPast(plan, location, io)
    // What follows needs much more code than a look does.
    const { follow } = await import('../flow/session.js')
    return await follow(plan, location, io)
  } catch (error) {
    if (!isAgent) throw error
    const isEnded = io.signal.aborted && !(error instanceof KimError)
    await tellAgent(isEnded ? endOf(io.signal.reason) : 'error', isEnded ? undefined : asKimError(error), io)
    if (isEnded) return 0
    throw error
  }
}

/** Whether it is enough to print what stands there, without a cursor or anything to wait for. */
function isLook({ exec, follow, position }: Plan): boolean {
  return !follow && exec === undefined && (position.kind === 'last' || position.kind === 'since')
}

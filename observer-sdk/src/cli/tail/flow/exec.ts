import type { Io } from '@kim/cli-kit'
import { execEnvironment } from '../../../announce/exec-env.js'
import { runExec } from '../../../announce/exec-runner.js'
import { monitorEvent } from '../../../announce/monitor-event.js'
import { type Delivery, deliver } from '../consume/deliver.js'
import type { Entry, JournalFacts } from '../entry.js'
import type { Plan } from '../plan.js'

/** What handing an event to the command needs. */
export interface ExecParts {
  readonly plan: Plan
  readonly facts: JournalFacts
  readonly io: Io
  /** Aborted when the event is to be waited for no longer. What runs then has its time. */
  readonly ended: AbortSignal
  readonly warn: (text: string) => void
}

/** Runs the command of `--exec` for a record; `none` if the record announces nothing. */
export async function deliverEntry(
  entry: Entry,
  { ended, facts, io, plan, warn }: ExecParts,
): Promise<Delivery | 'none'> {
  const { bodyChars, exec, follow } = plan
  const event = monitorEvent(entry.record, { facts, contentChars: bodyChars, platform: process.platform })
  if (exec === undefined || event === undefined) return 'none'
  const run = (): ReturnType<typeof runExec> =>
    runExec(exec.command, execEnvironment(event, io.env), io.signal)
  return await deliver(event, { run, policy: exec.policy, follow, signal: ended, warn })
}

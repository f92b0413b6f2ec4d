/** Delivers events to the command of `--exec`. */
import { type Io, safeText } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import {
  type CommandDelivery,
  type CommandRefusal,
  CommandRunner,
  type JournalFacts,
  monitorEvent,
} from '@kim/monitor'
import type { JournalLine } from '@kim/observer-sdk'
import type { Plan } from '../plan.js'

/** What deliveries depend on. */
export interface ExecParts {
  readonly plan: Plan
  readonly facts: JournalFacts
  readonly io: Io
  /** Aborted when no further try may begin. A command that runs then may finish. */
  readonly ended: AbortSignal
  readonly warn: (text: string) => void
}

/** An event that the command keeps refusing is reported once in so many milliseconds. */
const REPORT_MS = 60_000

/** What became of an entry; `none` if it announces nothing. */
export type ExecResult = CommandDelivery['kind'] | 'none'

/** Returns what delivers an entry to the command of `--exec`. */
export function execDelivery(parts: ExecParts): (entry: JournalLine) => Promise<ExecResult> {
  const { ended, facts, io, plan, warn } = parts
  const { command = '', maxAttempts } = plan.exec ?? {}
  const runner = new CommandRunner({ command, env: io.env, maxAttempts })
  const look = { facts, contentChars: plan.bodyChars, platform: process.platform }
  return async ({ record }) => {
    const event = monitorEvent(record, look)
    if (event === undefined) return 'none'
    let reportMs = 0
    const onRefused = ({ forMs, tries, triesMax, why }: CommandRefusal): void => {
      // A command line that prints and is done does not wait for ever (CL-31).
      if (!plan.follow && !Number.isFinite(triesMax))
        throw new KimError('exec_failed', `cannot deliver ${safeText(event.event_id)}: the command ${why}`)
      if (forMs < reportMs) return
      reportMs = forMs + REPORT_MS
      warn(`retrying ${event.event_id}: the command ${why}; tries: ${tries}`)
    }
    const delivery = await runner.deliver(event, { signal: io.signal, waiting: ended, onRefused })
    if (delivery.kind === 'skipped') {
      const { tries, why } = delivery
      const count = Object.values(runner.skipped).reduce((sum, one) => sum + one, 0)
      const after = tries === 1 ? 'one try' : `${tries} tries`
      warn(`skipped ${event.event_id} after ${after}: the command ${why}; skipped so far: ${count}`)
    }
    return delivery.kind
  }
}

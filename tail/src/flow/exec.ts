/** Delivers events to the command of `--exec`. */
import { type Io, safeText } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import { type CommandRefusal, CommandRunner, type JournalFacts, monitorEvent } from '@kim/monitor'
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

/** The command of `--exec`, and the count of events that it skipped. */
export class ExecDelivery {
  readonly #parts: ExecParts
  readonly #runner: CommandRunner

  constructor(command: string, maxAttempts: number | undefined, parts: ExecParts) {
    this.#parts = parts
    this.#runner = new CommandRunner({ command, env: parts.io.env, maxAttempts })
  }

  /** Delivers what a record announces; `none` if it announces nothing. */
  async deliver(entry: JournalLine): Promise<'acknowledged' | 'skipped' | 'interrupted' | 'none'> {
    const { ended, facts, io, plan, warn } = this.#parts
    const look = { facts, contentChars: plan.bodyChars, platform: process.platform }
    const event = monitorEvent(entry.record, look)
    if (event === undefined) return 'none'
    let reportMs = 0
    const onRefused = (refusal: CommandRefusal): void => {
      this.#failUnlessWaited(refusal)
      if (refusal.forMs < reportMs) return
      reportMs = refusal.forMs + REPORT_MS
      warn(`retrying ${event.event_id}: the command ${refusal.why}; tries: ${refusal.tries}`)
    }
    const delivery = await this.#runner.deliver(event, { signal: io.signal, waiting: ended, onRefused })
    if (delivery.kind === 'skipped') {
      const { tries, why } = delivery
      const count = Object.values(this.#runner.skipped).reduce((sum, one) => sum + one, 0)
      const after = tries === 1 ? 'one try' : `${tries} tries`
      warn(`skipped ${event.event_id} after ${after}: the command ${why}; skipped so far: ${count}`)
    }
    return delivery.kind
  }

  /** A command line that prints and is done does not wait for ever (CL-31). */
  #failUnlessWaited({ event, triesMax, why }: CommandRefusal): void {
    if (this.#parts.plan.follow || Number.isFinite(triesMax)) return
    throw new KimError('exec_failed', `cannot deliver ${safeText(event.event_id)}: the command ${why}`)
  }
}

import { setTimeout as sleep } from 'node:timers/promises'
import { safeText } from '@kim/cli-kit'
import { KimError } from '@kim/manifest'
import type { ExecOutcome } from '../../../announce/exec-runner.js'
import type { MonitorEvent } from '../../../announce/monitor-event.js'
import { afterFailure, type PoisonPolicy } from './poison.js'

/** How the delivery of one event ended. */
export type Delivery = 'acknowledged' | 'skipped' | 'interrupted'

/** What delivery needs from its surroundings. */
export interface DeliverOptions {
  readonly run: (event: MonitorEvent) => Promise<ExecOutcome>
  readonly policy: PoisonPolicy
  /** False for a command that prints and is done: it does not wait for ever. */
  readonly follow: boolean
  readonly signal: AbortSignal
  readonly warn: (text: string) => void
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>
}

/** Runs the command for one event until it is acknowledged; the policy says what becomes of one that never is. */
export async function deliver(event: MonitorEvent, options: DeliverOptions): Promise<Delivery> {
  const { follow, policy, run, signal, wait = pause, warn } = options
  for (let failures = 1; ; failures++) {
    const outcome = await run(event)
    if (outcome.kind !== 'refused') return outcome.kind
    const next = afterFailure(policy, failures)
    if (next.step === 'skip') {
      warn(`skipped ${event.event_id} after ${failures} tries: the command ${outcome.why}`)
      return 'skipped'
    }
    if (!follow && policy.kind === 'hold') {
      throw new KimError(
        'exec_failed',
        `cannot deliver ${safeText(event.event_id)}: the command ${outcome.why}`,
      )
    }
    if (next.say) warn(`retrying ${event.event_id}: the command ${outcome.why}; tries: ${failures}`)
    await wait(next.delayMs, signal)
    if (signal.aborted) return 'interrupted'
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}

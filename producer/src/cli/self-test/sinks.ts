import { randomBytes } from 'node:crypto'
import { heartbeatEvent, readHostClocks } from '@kim/monitor'
import type { SinkPlan } from '../../sinks/sinks.js'
import type { SelfTestResult } from './self-test-result.js'

/** Hands each sink a heartbeat: the one event that no consumer wakes for. */
export async function* trySinks(
  plans: readonly SinkPlan[],
  persona: string,
  signal: AbortSignal,
): AsyncGenerator<SelfTestResult> {
  for (const plan of plans) {
    const sink = plan.make([], new Set())
    const began = performance.now()
    try {
      const id = `${persona}:heartbeat:${randomBytes(8).toString('hex')}-1`
      const beat = heartbeatEvent(persona, undefined, id, readHostClocks(1), process.platform)
      const { failure: refusal, skipped } = await sink.deliver(sink.laneOf(persona), [beat], signal)
      const failure = refusal ?? skipped?.why
      const ms = performance.now() - began
      const detail = failure ?? 'accepted a heartbeat'
      yield { part: 'sink', name: sink.name, ok: failure === undefined, detail, ms }
    } finally {
      sink.close()
    }
  }
}

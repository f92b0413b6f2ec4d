/** Records as events of other systems: CloudEvents, and the lines of the older monitor. */
import { safeJson } from '@kim/cli-kit'
import { eventIdOf, isNews, nonceOf } from '@kim/manifest'
import { type JournalFacts, type MonitorLook, monitorEvent, monitorLine } from '@kim/monitor'
import { typeOf } from '../selection.js'
import { recordTimeMs } from './clock.js'
import type { Renderer } from './short.js'

/** The older monitor's event lines. Records that announce nothing are not shown. */
export function createMonitor(look: MonitorLook): Renderer {
  return ({ record }) => {
    const event = monitorEvent(record, look)
    return event === undefined ? undefined : monitorLine(event)
  }
}

/** CloudEvents sort `sequence` as text. */
const SEQUENCE_DIGITS = 20

/** One CloudEvents 1.0 object a line, for pipelines that speak it. */
export function createCloudEvents(facts: JournalFacts): Renderer {
  return ({ record }) => {
    const projectId = facts.projectId()
    // A record that announces nothing has no event id; its identity in the journal serves.
    const id = isNews(record) ? eventIdOf(projectId, record) : `${record.writer ?? '_'}-${record.seq}`
    const at = recordTimeMs(record.ts)
    const { mono_ms: monotonic, boot_ms: boottime } = record.clock ?? {}
    const emitted =
      record.clock === undefined ? undefined : { boottime_ms: boottime, monotonic_ms: monotonic }
    return safeJson(
      JSON.stringify({
        specversion: '1.0',
        id,
        source: `urn:kim:${projectId}`,
        type: `ai.kijito.${typeOf(record)}.v2`,
        ...(at === undefined ? {} : { time: new Date(at).toISOString() }),
        subject: record.agent ?? '_',
        partitionkey: record.agent ?? '_',
        sequence: String(record.seq).padStart(SEQUENCE_DIGITS, '0'),
        kimnonce: nonceOf(id),
        dataschema: 'urn:kim:schema:record:2',
        datacontenttype: 'application/json',
        data: { ...facts.payloadOf(record), ...(emitted === undefined ? {} : { emitted }) },
      }),
    )
  }
}

import { limits } from '@kim/manifest'
import { by, exposition, type Family, one, type Sample } from './exposition.js'
import type { JournalRoom } from './journal-size.js'
import type { Meters } from './meters.js'
import type { PersonaLine, ServiceStatus } from './status.js'

/** What is written besides the status. */
export interface Measured {
  readonly meters: Meters
  readonly room: JournalRoom | undefined
  readonly residentBytes: number
  readonly cpuSeconds: number
}

/**
 * `run/metrics.prom`. Labels are kinds, outcomes and sinks, and names of personas where they are few: what comes in
 * can neither make the file grow nor name a series.
 */
export function metricsText(status: ServiceStatus, measured: Measured): string {
  return exposition([
    ...processFamilies(status, measured),
    ...serverFamilies(status, measured.meters),
    ...journalFamilies(status, measured),
    ...sinkFamilies(status),
    ...personaFamilies(status.personas),
  ])
}

function processFamilies(
  { version, project_id, started, state }: ServiceStatus,
  measured: Measured,
): Family[] {
  return [
    gauge('kim_build_info', 'What runs, on which journal.', [{ labels: { version, project_id }, value: 1 }]),
    gauge('kim_up', '0 in what a producer left that stopped.', one(Number(state === 'running'))),
    gauge('process_start_time_seconds', 'When it started, since 1970.', one(Date.parse(started) / 1000)),
    gauge('process_resident_memory_bytes', 'Resident memory.', one(measured.residentBytes)),
    counter('process_cpu_seconds_total', 'User and system time.', one(measured.cpuSeconds)),
  ]
}

function serverFamilies(status: ServiceStatus, meters: Meters): Family[] {
  const { personas, polls, failures, counts, requests } = status
  const up = personas.filter(({ state }) => state === 'up').length
  const healthy = personas.flatMap(({ last_healthy }) => (last_healthy === undefined ? [] : [last_healthy]))
  const newest = healthy.sort().at(-1)
  return [
    // Before the first answer nobody knows.
    gauge('kim_upstream_up', 'At least one inbox answers.', one(polls === 0 ? undefined : Number(up > 0))),
    gauge('kim_personas', 'Inboxes by whether they answer.', by('state', { up, down: personas.length - up })),
    counter(
      'kim_polls_total',
      'Polls of inboxes by outcome.',
      by('outcome', { ok: polls - failures, failed: failures }),
    ),
    histogram('kim_poll_duration_seconds', 'Requests for a page of an inbox.', meters.polls.samples()),
    gauge(
      'kim_last_successful_poll_timestamp_seconds',
      'The newest healthy poll of any inbox, since 1970.',
      one(newest === undefined ? undefined : Date.parse(newest) / 1000),
    ),
    counter('kim_requests_total', 'Requests by kind.', by('kind', requests)),
    gauge('kim_counts_live', 'Counts of unread mail come in.', one(Number(counts === 'live'))),
  ]
}

function journalFamilies(status: ServiceStatus, { meters, room }: Measured): Family[] {
  const { head_seq, disk, updated } = status
  const age = room?.checkpointMs === undefined ? undefined : (Date.parse(updated) - room.checkpointMs) / 1000
  return [
    gauge('kim_journal_head_seq', 'The newest record.', one(head_seq)),
    counter('kim_journal_records_total', 'Records made durable by item type.', by('type', meters.records)),
    counter('kim_journal_commits_total', 'Commits that were synced.', one(meters.commits)),
    gauge('kim_journal_bytes', 'Bytes of the segments that are not archived.', one(room?.bytes)),
    gauge('kim_journal_segments', 'Segments that are not archived.', one(room?.segments)),
    gauge('kim_checkpoint_age_seconds', 'Since the newest checkpoint.', one(age && Math.max(0, age))),
    gauge('kim_journal_disk_full', 'There is no space to append.', one(Number(disk === 'full'))),
    histogram(
      'kim_journal_append_duration_seconds',
      'Commits, from encoding to durable.',
      meters.appends.samples(),
    ),
    histogram('kim_journal_fsync_duration_seconds', 'Syncs of data.', meters.syncs.samples()),
    histogram(
      'kim_wake_latency_seconds',
      'News, from the complete answer to durable, when readers wake.',
      meters.wakes.samples(),
    ),
  ]
}

function sinkFamilies({ sinks }: ServiceStatus): Family[] {
  const each = (of: (sink: (typeof sinks)[number]) => number | null): Sample[] =>
    sinks.flatMap(sink => {
      const value = of(sink)
      return value === null ? [] : [{ labels: { sink: sink.sink }, value }]
    })
  const gaps: Record<string, number> = {}
  for (const sink of sinks) {
    for (const [reason, count] of Object.entries(sink.gaps)) gaps[reason] = (gaps[reason] ?? 0) + count
  }
  return [
    gauge(
      'kim_delivery_lag_seconds',
      'For how long something has waited for a sink.',
      each(({ lag_ms }) => lag_ms / 1000),
    ),
    gauge(
      'kim_sink_behind_records',
      'Records a sink has still to pass.',
      each(({ behind }) => behind),
    ),
    gauge(
      'kim_sink_held_lanes',
      'Places of a sink that take nothing.',
      each(({ held }) => held),
    ),
    gauge(
      'kim_sink_up',
      'The sink takes what it is given.',
      each(({ state }) => Number(state === 'working')),
    ),
    counter(
      'kim_sink_skipped_total',
      'Events that a sink skipped after their tries.',
      sinks.flatMap(({ sink, skipped }) =>
        Object.entries(skipped).map(([wake_class, value]) => ({ labels: { sink, wake_class }, value })),
      ),
    ),
    counter('kim_gap_total', 'Runs of records that were gone before a sink had them.', by('reason', gaps)),
  ]
}

/** Series per persona are written while these are few: every one of them costs whoever collects them. */
function personaFamilies(personas: readonly PersonaLine[]): Family[] {
  if (personas.length > limits.metricsPersonasMax) return []
  const each = (of: (persona: PersonaLine) => number | boolean | undefined): Sample[] =>
    personas.flatMap(persona => {
      const value = of(persona)
      return value === undefined ? [] : [{ labels: { persona: persona.persona }, value: Number(value) }]
    })
  return [
    gauge(
      'kim_unread',
      'Unread, by the server.',
      each(({ unread }) => unread),
    ),
    gauge(
      'kim_unread_urgent',
      'Urgent of these.',
      each(({ unread_urgent }) => unread_urgent),
    ),
    gauge(
      'kim_persona_up',
      'The inbox answers.',
      each(({ state }) => state === 'up'),
    ),
    gauge(
      'kim_persona_armed',
      'Its mail is news.',
      each(({ armed }) => armed),
    ),
    gauge(
      'kim_persona_pinned',
      'A gap is being walked.',
      each(({ pinned }) => pinned),
    ),
    gauge(
      'kim_persona_watermark',
      'All up to this id is known.',
      each(({ watermark }) => watermark),
    ),
    gauge(
      'kim_persona_failures',
      'Failed polls in a row.',
      each(p => p.consecutive_failures),
    ),
  ]
}

function gauge(name: string, help: string, samples: readonly Sample[]): Family {
  return { name, type: 'gauge', help, samples }
}

function counter(name: string, help: string, samples: readonly Sample[]): Family {
  return { name, type: 'counter', help, samples }
}

function histogram(name: string, help: string, samples: readonly Sample[]): Family {
  return { name, type: 'histogram', help, samples }
}

/** `run/metrics.prom`: what is counted while the loop runs, which metrics there are, and their text format. */
import { safeText } from '@kim/cli-kit'
import { limits } from '@kim/manifest'
import type { Draft } from '../journal/draft.js'
import type { JournalRoom, PersonaLine, ProducerStatus } from './status.js'

/** One value; `suffix` tells the parts of a histogram apart. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
  readonly suffix?: '_bucket' | '_sum' | '_count'
}

/** What is counted under one name. */
interface Family {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly samples: readonly Sample[]
}

/** Samples with one value per value of a label. */
function by(label: string, values: Readonly<Record<string, number>>): readonly Sample[] {
  return Object.entries(values).map(([name, value]) => ({ labels: { [label]: name }, value }))
}

/** Prometheus text 0.0.4. A family without a value is left out: nothing is known, which is not zero. */
export function exposition(families: readonly Family[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(familyText)
    .join('')
}

function familyText({ name, type, help, samples }: Family): string {
  const lines = samples.map(
    ({ labels, value, suffix = '' }) => `${name}${suffix}${labelText(labels)} ${value}\n`,
  )
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

/** The three characters that the format escapes. */
function escaped(text: string): string {
  const printable = text.split('\n').map(printed).join('\n')
  return printable.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

/** Safe to print, and still another text for each: what looks like an escape already is one itself (CL-9). */
function printed(line: string): string {
  return safeText(line.replace(/\\(?=[rtxu])/g, '\\x5c'))
}

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
export function metricsText(status: ProducerStatus, measured: Measured): string {
  return exposition([
    ...processFamilies(status, measured),
    ...serverFamilies(status, measured.meters),
    ...journalFamilies(status, measured),
    ...sinkFamilies(status),
    ...personaFamilies(status.personas),
  ])
}

function processFamilies(
  { version, project_id, started, state }: ProducerStatus,
  measured: Measured,
): Family[] {
  return [
    gauge('kim_build_info', 'Version of the producer and project of its journal; always 1.', [
      { labels: { version, project_id }, value: 1 },
    ]),
    gauge('kim_up', '1 while the producer runs; 0 in the file of one that stopped.', state === 'running'),
    gauge('process_start_time_seconds', 'Start time, in seconds since 1970.', Date.parse(started) / 1000),
    gauge('process_resident_memory_bytes', 'Resident memory in bytes.', measured.residentBytes),
    counter('process_cpu_seconds_total', 'User and system CPU time in seconds.', measured.cpuSeconds),
  ]
}

function serverFamilies(status: ProducerStatus, meters: Meters): Family[] {
  const { personas, polls, failures, counts, requests } = status
  const up = personas.filter(({ state }) => state === 'up').length
  const healthy = personas.flatMap(({ last_healthy }) => (last_healthy === undefined ? [] : [last_healthy]))
  const newest = healthy.sort().at(-1)
  const pages = by('outcome', { ok: polls - failures, failed: failures })
  return [
    // Before the first answer it is unknown.
    gauge('kim_upstream_up', '1 if at least one inbox answers.', polls === 0 ? undefined : up > 0),
    gauge(
      'kim_personas',
      'Inboxes by state: up answers, down does not.',
      by('state', { up, down: personas.length - up }),
    ),
    counter('kim_polls_total', 'Polls of inboxes, by outcome.', pages),
    histogram('kim_poll_duration_seconds', 'Duration of requests for a page of an inbox.', meters.polls),
    gauge(
      'kim_last_successful_poll_timestamp_seconds',
      'Time of the newest successful poll of any inbox, in seconds since 1970.',
      newest === undefined ? undefined : Date.parse(newest) / 1000,
    ),
    counter('kim_requests_total', 'Requests to the server, by kind.', by('kind', requests)),
    gauge('kim_counts_live', '1 if the server returns counts of unread mail.', counts === 'live'),
  ]
}

function journalFamilies(status: ProducerStatus, { meters, room }: Measured): Family[] {
  const { head_seq, disk, updated } = status
  const age = room?.checkpointMs === undefined ? undefined : (Date.parse(updated) - room.checkpointMs) / 1000
  const wakes = 'Time from the complete answer of the server to the durable record, for announced records.'
  return [
    gauge('kim_journal_head_seq', 'Seq of the newest record.', head_seq),
    counter('kim_journal_records_total', 'Records made durable, by item type.', by('type', meters.records)),
    counter('kim_journal_commits_total', 'Commits synced to disk.', meters.commits),
    gauge('kim_journal_bytes', 'Bytes in segments that are not archived.', room?.bytes),
    gauge('kim_journal_segments', 'Segments that are not archived.', room?.segments),
    gauge('kim_checkpoint_age_seconds', 'Seconds since the newest checkpoint.', age && Math.max(0, age)),
    gauge('kim_journal_disk_full', '1 if the disk is full and nothing can be appended.', disk === 'full'),
    histogram(
      'kim_journal_append_duration_seconds',
      'Duration of commits, from encoding to durable.',
      meters.appends,
    ),
    histogram('kim_journal_fsync_duration_seconds', 'Duration of syncs to disk.', meters.syncs),
    histogram('kim_wake_latency_seconds', wakes, meters.wakes),
  ]
}

function sinkFamilies({ sinks }: ProducerStatus): Family[] {
  const each = gaugesOf(sinks, ({ sink }) => ({ sink }))
  const gaps: Record<string, number> = {}
  for (const sink of sinks) {
    for (const [reason, count] of Object.entries(sink.gaps)) gaps[reason] = (gaps[reason] ?? 0) + count
  }
  const skips = sinks.flatMap(({ sink, skipped }) =>
    Object.entries(skipped).map(([wake_class, value]) => ({ labels: { sink, wake_class }, value })),
  )
  const lost = 'Ranges of records that were missing before a sink could deliver them, by reason.'
  const held = 'Inboxes whose events a sink holds back because of a failed event.'
  const waited = 'How long the oldest undelivered event of a sink has waited.'
  return [
    each('kim_delivery_lag_seconds', waited, ({ lag_ms }) => lag_ms / 1000),
    each('kim_sink_behind_records', 'Records that a sink has not processed yet.', ({ behind }) => behind),
    each('kim_sink_held_lanes', held, sink => sink.held),
    each('kim_sink_up', '1 if the sink delivers its events.', ({ state }) => state === 'working'),
    counter('kim_sink_skipped_total', 'Events that a sink skipped after their tries.', skips),
    counter('kim_gap_total', lost, by('reason', gaps)),
  ]
}

/** Series per persona are written while these are few: each of them costs the collector memory. */
function personaFamilies(personas: readonly PersonaLine[]): Family[] {
  if (personas.length > limits.metricsPersonasMax) return []
  const each = gaugesOf(personas, ({ persona }) => ({ persona }))
  const urgent = 'Unread urgent messages, as counted by the server.'
  return [
    each('kim_unread', 'Unread messages, as counted by the server.', ({ unread }) => unread),
    each('kim_unread_urgent', urgent, ({ unread_urgent }) => unread_urgent),
    each('kim_persona_up', '1 if the inbox answers.', ({ state }) => state === 'up'),
    each('kim_persona_armed', '1 if new mail of the inbox is announced.', ({ armed }) => armed),
    each('kim_persona_pinned', '1 while the producer fills a gap in the inbox.', ({ pinned }) => pinned),
    each('kim_persona_watermark', 'All messages up to this id are in the journal.', p => p.watermark),
    each('kim_persona_failures', 'Failed polls in a row.', p => p.consecutive_failures),
  ]
}

/** What is not known (`undefined` or `null`) has no sample. */
type Value = number | boolean | null | undefined

function samplesOf(value: Value, labels: Sample['labels']): Sample[] {
  return value === undefined || value === null ? [] : [{ labels, value: Number(value) }]
}

function gauge(name: string, help: string, samples: Value | readonly Sample[]): Family {
  return { name, type: 'gauge', help, samples: listed(samples) }
}

/** Gauges with one value per sink, or per inbox. */
function gaugesOf<T>(all: readonly T[], labels: (one: T) => Sample['labels']) {
  return (name: string, help: string, of: (one: T) => Value): Family => {
    const samples = all.flatMap(one => samplesOf(of(one), labels(one)))
    return gauge(name, help, samples)
  }
}

function counter(name: string, help: string, samples: Value | readonly Sample[]): Family {
  return { name, type: 'counter', help, samples: listed(samples) }
}

/** A family without labels has one value, or none. */
function listed(samples: Value | readonly Sample[]): readonly Sample[] {
  return typeof samples === 'object' && samples !== null ? samples : samplesOf(samples, {})
}

function histogram(name: string, help: string, buckets: { samples(): readonly Sample[] }): Family {
  return { name, type: 'histogram', help, samples: buckets.samples() }
}

/** How often something took how long. Its size depends on its bounds alone, never on what was seen. */
export class Histogram {
  readonly #bounds: readonly number[]
  readonly #counts: number[]
  #sum = 0

  /** `bounds`: seconds, ascending; what is above the last one is counted too. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
    this.#counts = [...bounds, 0].map(() => 0)
  }

  observe(seconds: number): void {
    const at = this.#bounds.findIndex(bound => seconds <= bound)
    const bucket = at === -1 ? this.#bounds.length : at
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1
    this.#sum += seconds
  }

  samples(): readonly Sample[] {
    let total = 0
    const buckets = this.#counts.map((count, at): Sample => {
      total += count
      const bound = this.#bounds[at]
      return { labels: { le: bound === undefined ? '+Inf' : String(bound) }, value: total, suffix: '_bucket' }
    })
    return [
      ...buckets,
      { labels: {}, value: this.#sum, suffix: '_sum' },
      { labels: {}, value: total, suffix: '_count' },
    ]
  }
}

/** Seconds. A local disk syncs within the first few, a request over a network takes the later ones. */
const DISK_BOUNDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5]
const NETWORK_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60]
const WAKE_BOUNDS = [0.001, 0.002, 0.004, 0.008, 0.015, 0.03, 0.06, 0.125, 0.25, 0.5, 1, 5, 30]

/** What is counted while the loop runs, for `metrics.prom`. All of it is bounded, whatever comes in. */
export class Meters {
  /** Requests for a page of an inbox, from sent to judged. */
  readonly polls: Histogram = new Histogram(NETWORK_BOUNDS)
  /** Commits, from encoding to durable. */
  readonly appends: Histogram = new Histogram(DISK_BOUNDS)
  /** Calls that make bytes durable. */
  readonly syncs: Histogram = new Histogram(DISK_BOUNDS)
  /** News, from the complete answer to durable: then every reader can be woken. */
  readonly wakes: Histogram = new Histogram(WAKE_BOUNDS)
  readonly #records: Record<string, number> = {}
  #commits = 0
  readonly #nowMs: () => number

  /** `nowMs`: a clock that is exact to less than a millisecond. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
  }

  /** Begins to measure; what comes back says the seconds since. */
  start(): () => number {
    const began = this.#nowMs()
    return () => Math.max(0, this.#nowMs() - began) / 1000
  }

  /** Measures one call that makes bytes durable; one that fails is not counted. */
  readonly sync = (call: () => void): void => {
    const seconds = this.start()
    call()
    this.syncs.observe(seconds())
  }

  /** A commit became durable. */
  appended(drafts: readonly Draft[], seconds: number): void {
    this.#commits++
    this.appends.observe(seconds)
    for (const { item_type, event, wait_ms } of drafts) {
      this.#records[item_type] = (this.#records[item_type] ?? 0) + 1
      if (event !== undefined && wait_ms !== undefined) this.wakes.observe(wait_ms / 1000 + seconds)
    }
  }

  get commits(): number {
    return this.#commits
  }

  /** Records by item type. The types are those that we write ourselves. */
  get records(): Readonly<Record<string, number>> {
    return this.#records
  }
}

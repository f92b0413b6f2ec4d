import type { ServiceStatus } from './status.js'

/** What the loop and the system count. */
export interface Totals {
  readonly commits: number
  readonly records: number
  readonly residentBytes: number
  readonly cpuSeconds: number
}

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number]

/** `run/metrics.prom`: Prometheus text 0.0.4. Labels are names of personas at most, never anything of a message. */
export function metricsText(status: ServiceStatus, totals: Totals): string {
  const { personas } = status
  const perPersona = (of: (persona: (typeof personas)[number]) => number | boolean | undefined): Sample[] =>
    personas.flatMap(persona => {
      const value = of(persona)
      return value === undefined ? [] : [[{ persona: persona.persona }, Number(value)] as const]
    })
  const families: [name: string, type: 'counter' | 'gauge', help: string, samples: readonly Sample[]][] = [
    ['kim_info', 'gauge', 'What runs.', [[{ version: status.version, project_id: status.project_id }, 1]]],
    [
      'kim_start_time_seconds',
      'gauge',
      'When it started, since 1970.',
      one(Date.parse(status.started) / 1000),
    ],
    ['kim_head_seq', 'gauge', 'The newest record.', one(status.head_seq)],
    ['kim_disk_full', 'gauge', 'No space to append.', one(Number(status.disk === 'full'))],
    ['kim_counts_live', 'gauge', 'Counts of unread mail come in.', one(Number(status.counts === 'live'))],
    ['kim_commits_total', 'counter', 'Commits that were synced.', one(totals.commits)],
    ['kim_records_total', 'counter', 'Records in them.', one(totals.records)],
    ['kim_polls_total', 'counter', 'Polls of inboxes.', one(status.polls)],
    ['kim_poll_failures_total', 'counter', 'Polls that failed.', one(status.failures)],
    [
      'kim_requests_total',
      'counter',
      'Requests by kind.',
      Object.entries(status.requests).map(([kind, count]) => [{ kind }, count]),
    ],
    ['kim_persona_up', 'gauge', 'The inbox answers.', perPersona(({ state }) => state === 'up')],
    ['kim_persona_armed', 'gauge', 'Its mail is news.', perPersona(({ armed }) => armed)],
    ['kim_persona_pinned', 'gauge', 'A gap is being walked.', perPersona(({ pinned }) => pinned)],
    [
      'kim_persona_watermark',
      'gauge',
      'All up to this id is known.',
      perPersona(({ watermark }) => watermark),
    ],
    ['kim_persona_failures', 'gauge', 'Failed polls in a row.', perPersona(p => p.consecutive_failures)],
    ['kim_persona_unread', 'gauge', 'Unread, by the server.', perPersona(({ unread }) => unread)],
    ['kim_persona_unread_urgent', 'gauge', 'Urgent of these.', perPersona(p => p.unread_urgent)],
    ['process_resident_memory_bytes', 'gauge', 'Resident memory.', one(totals.residentBytes)],
    ['process_cpu_seconds_total', 'counter', 'User and system time.', one(totals.cpuSeconds)],
  ]
  return families.map(([name, type, help, samples]) => family(name, type, help, samples)).join('')
}

function one(value: number): readonly Sample[] {
  return [[{}, value]]
}

function family(name: string, type: string, help: string, samples: readonly Sample[]): string {
  const lines = samples.map(([labels, value]) => `${name}${labelText(labels)} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

/** The three characters that the format escapes. */
function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}

import { spawnSync } from 'node:child_process'
import t from 'tap'
import { Histogram, Meters, metricsText } from '../../dist/run/metrics.js'
import type { JournalRoom, PersonaLine, ProducerStatus } from '../../dist/run/status.js'
import type { SinkStatus } from '../../dist/sinks/sink.js'
import { message } from '../kit/store.js'

const sink: SinkStatus = {
  sink: 'events-file-template',
  identity: 'file:/srv/events/{persona}.ndjson',
  state: 'held',
  why: null,
  seq: 40,
  behind: 12,
  lag_ms: 1500,
  gaps: { archived: 1 },
  skipped: { liveness: 3 },
  held: 1,
  lanes: [{ lane: 'river', seq: 30, why: 'the disk is full', tries: 3, for_ms: 1500 }],
}

const room: JournalRoom = { segments: 2, bytes: 1000, checkpointMs: Date.UTC(2026, 5, 10, 13) }

function inbox(persona: string): PersonaLine {
  return {
    persona,
    state: 'up',
    armed: true,
    watermark: 7,
    pinned: false,
    consecutive_failures: 0,
    last_healthy: '2026-06-10T13:59:59.500Z',
    unread: 2,
    unread_urgent: 1,
  }
}

function status(personas: readonly PersonaLine[], sinks: readonly SinkStatus[] = [sink]): ProducerStatus {
  return {
    schema_version: 1,
    state: 'running',
    version: '9.8.7',
    pid: 4711,
    start_key: 'boot:1',
    started: '2026-06-10T12:00:00.000Z',
    updated: '2026-06-10T14:00:00.000Z',
    interval_ms: 10_000,
    store: '/srv/store',
    source: 'http://localhost:7474',
    dialect: 'local',
    project_id: '0123456789abcdef0123456789abcdef',
    head_seq: 52,
    disk: 'ok',
    counts: 'live',
    registry_genesis: true,
    polls: 9,
    failures: 2,
    requests: { page: 9, counts: 3, directory: 1 },
    personas,
    sinks,
  }
}

function text(of: ProducerStatus, meters: Meters = new Meters()): string {
  return metricsText(of, { meters, room, residentBytes: 5e7, cpuSeconds: 1.5 })
}

/** A clock that moves by so much at every look. */
function steps(ms: number): () => number {
  let now = 0
  return () => (now += ms)
}

t.test('histogram - counts what is at most each bound, and all of it', async t => {
  const histogram = new Histogram([0.5, 2])
  for (const seconds of [0.1, 0.5, 1, 9]) histogram.observe(seconds)
  t.same(
    histogram.samples().map(({ labels, value, suffix }) => [labels['le'] ?? suffix, value]),
    [
      ['0.5', 2],
      ['2', 3],
      ['+Inf', 4],
      ['_sum', 10.6],
      ['_count', 4],
    ],
  )
})

t.test('CL-53 metrics - say what was measured', async t => {
  const meters = new Meters(steps(3))
  const seconds = meters.start()
  meters.appended([{ ...message(1), event: 'new', wait_ms: 4 }, message(2)], seconds())
  meters.polls.observe(meters.start()())
  const found = text(status([inbox('river "the\nfirst"\\')]), meters)
  for (const line of [
    'kim_build_info{version="9.8.7",project_id="0123456789abcdef0123456789abcdef"} 1',
    'process_start_time_seconds 1781092800',
    'kim_up 1',
    'kim_upstream_up 1',
    'kim_personas{state="up"} 1',
    'kim_polls_total{outcome="ok"} 7',
    'kim_polls_total{outcome="failed"} 2',
    'kim_poll_duration_seconds_bucket{le="0.0025"} 0',
    'kim_poll_duration_seconds_bucket{le="0.005"} 1',
    'kim_last_successful_poll_timestamp_seconds 1781099999.5',
    'kim_journal_records_total{type="message"} 2',
    'kim_journal_append_duration_seconds_sum 0.003',
    'kim_journal_fsync_duration_seconds_count 0',
    'kim_journal_segments 2',
    'kim_journal_bytes 1000',
    'kim_checkpoint_age_seconds 3600',
    'kim_wake_latency_seconds_count 1',
    'kim_wake_latency_seconds_sum 0.007',
    'kim_delivery_lag_seconds{sink="events-file-template"} 1.5',
    'kim_sink_behind_records{sink="events-file-template"} 12',
    'kim_sink_held_lanes{sink="events-file-template"} 1',
    'kim_sink_up{sink="events-file-template"} 0',
    'kim_gap_total{reason="archived"} 1',
    'kim_sink_skipped_total{sink="events-file-template",wake_class="liveness"} 3',
    'kim_unread{persona="river \\"the\\nfirst\\"\\\\"} 2',
  ]) {
    t.ok(found.split('\n').includes(line), line)
  }
  t.notMatch(found, /\b(NaN|undefined|null)\b/)
})

t.test('CL-53 metrics - what is not known is left out, not zero', async t => {
  const { last_healthy: _, unread: __, ...fresh } = inbox('river')
  const measured = { meters: new Meters(), room: undefined, residentBytes: 1, cpuSeconds: 1 }
  const young: ProducerStatus = { ...status([fresh], []), polls: 0, failures: 0, state: 'stopped' }
  const found = metricsText(young, measured)
  t.ok(found.includes('kim_up 0\n'))
  for (const name of [
    'kim_upstream_up',
    'kim_last_successful_poll',
    'kim_journal_bytes',
    'kim_checkpoint_age',
    'kim_unread{',
    'kim_sink',
  ]) {
    t.notOk(found.includes(name), name)
  }
})

t.test('CL-53 metrics - neither mail nor inboxes make them longer than they may become', async t => {
  const lines = (personas: number, records: number): number => {
    const meters = new Meters()
    const batch = Array.from({ length: 100 }, (_, n) => message(n + 1))
    for (let n = 0; n < records; n += batch.length) meters.appended(batch, 0.001)
    return text(status(Array.from({ length: personas }, (_, n) => inbox(`p${n}`))), meters).split('\n').length
  }
  t.equal(lines(3, 100), lines(3, 100_000), 'records make no series')
  t.equal(lines(101, 100), lines(2000, 100), 'nor do inboxes, where they are many')
  t.ok(lines(100, 100) > lines(101, 100), 'a hundred are shown one by one')
})

const noPromtool = spawnSync('promtool', ['--version']).error !== undefined && 'promtool is not here'

t.test('CL-53 metrics - promtool finds nothing to mend', { skip: noPromtool }, async t => {
  for (const personas of [[], [inbox('river "the\nfirst"\\'), inbox('argus\r\u0007{}é')]]) {
    const { status: code, stderr } = spawnSync('promtool', ['check', 'metrics'], {
      input: text(status(personas)),
      encoding: 'utf8',
    })
    t.equal(code, 0, stderr)
    t.equal(stderr, '')
  }
  t.not(spawnSync('promtool', ['check', 'metrics'], { input: 'kim_x{ 1\n' }).status, 0, 'it is not blind')
})

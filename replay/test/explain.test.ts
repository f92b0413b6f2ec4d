import { PassThrough } from 'node:stream'
import { runProgram } from '@kim/cli-kit'
import t from 'tap'
import { JournalMaker } from '../../observer-sdk/dist-test/verify/journal-maker.js'
import { replayProgram } from '../dist/cli/program.js'
import { collectTimeline, explain, openCopy } from '../dist/internal.js'

const HOUR = 3_600_000
const start = Date.parse('2026-06-10T10:00:00.000Z')
const iso = (ms: number): string => new Date(start + ms).toISOString()

interface Moment {
  /** Milliseconds since the beginning, by the wall clock. */
  readonly at: number
  readonly slept?: number
  readonly booted?: number
  readonly wait?: number
}

function clocked({ at, slept = 0, booted = -HOUR, wait = 5 }: Moment): object {
  const boot = at - booted
  return { ts: iso(at), clock: { boot_ms: boot, mono_ms: boot - slept, wait_ms: wait } }
}

function message(id: number, created: number, read = false): object {
  const payload = {
    schema_version: 1,
    persona: 'river',
    id,
    from: 'argus',
    content: 'hi',
    content_length: 2,
    created: iso(created),
    read,
  }
  return {
    agent: 'river',
    item_type: 'message',
    item_id: `river/${id}`,
    action: read ? 'update' : 'create',
    payload,
    ...(read ? {} : { event: 'new' }),
  }
}

const alert = (status: string): object => ({
  agent: 'river',
  item_type: 'alert',
  item_id: 'river/unreachable',
  payload: { schema_version: 1, persona: 'river', kind: 'unreachable', status, reason: 'ECONNREFUSED' },
})

t.test(
  'CL-44 explain - tells a host that slept from a message that waited, and names who was down',
  async t => {
    const maker = new JournalMaker()
    maker.note('producer_started', {}, clocked({ at: 0 }))
    maker.add({ ...alert('open'), ...clocked({ at: 10_000 }) })
    // The host sleeps for two hours; then the producer is stopped for one.
    maker.add({ ...alert('cleared'), ...clocked({ at: 2 * HOUR + 20_000, slept: 2 * HOUR }) })
    maker.note('producer_stopped', { reason: 'SIGTERM' }, clocked({ at: 2 * HOUR + 30_000, slept: 2 * HOUR }))
    maker.writer = 'w_2-b'
    maker.note('producer_started', {}, clocked({ at: 3 * HOUR + 30_000, slept: 2 * HOUR }))
    maker.add({ ...message(7, 5000), ...clocked({ at: 3 * HOUR + 40_000, slept: 2 * HOUR, wait: 250 }) })
    maker.add({ ...message(7, 5000, true), ...clocked({ at: 3 * HOUR + 50_000, slept: 2 * HOUR }) })
    maker.add({
      agent: 'river',
      action: 'delete',
      item_type: 'message',
      item_id: 'river/7',
      summary: 'archived',
      ...clocked({ at: 5 * HOUR, slept: 2 * HOUR }),
    })
    const eventsDir = maker.write(t.testdir())
    const journal = openCopy(eventsDir)
    const name = { kind: 'message', persona: 'river', id: 7, text: 'river:new:7' } as const
    const told = await explain(journal, name)
    t.same(
      told.steps.map(({ kind, since }) => [
        kind,
        since?.wall_ms ?? null,
        since?.two_clocks ?? null,
        since?.suspended_ms ?? null,
      ]),
      [
        ['created_upstream', null, null, null],
        ['polled', 3 * HOUR + 40_000 - 250 - 5000, true, null],
        ['appended', 250, false, null],
        ['read_upstream', 10_000, false, 0],
        ['archived', 2 * HOUR - 50_000, false, 0],
      ],
    )
    t.same(
      told.host.map(({ kind, ms }) => [kind, ms]),
      [['suspended', 2 * HOUR]],
    )
    t.same(
      told.producer_gaps.map(({ ms, stopped }) => [ms, stopped]),
      [[HOUR, true]],
    )
    t.same(
      told.alarms.map(({ kind, to_ts }) => [kind, to_ts]),
      [['unreachable', iso(2 * HOUR + 20_000)]],
    )
    t.equal(told.missing.exit, 0)
    for (const seq of [7, 8, 9])
      t.same(
        await explain(journal, { kind: 'seq', seq, text: String(seq) }),
        told,
        `seq ${seq} is of the same message, and tells the same`,
      )
  },
)

t.test('B11 CL-59 explain - an item that an update brought back has its steps again', async t => {
  const maker = new JournalMaker()
  maker.add({ item_type: 'plan', item_id: 'p', ...clocked({ at: 0 }) })
  maker.add({ item_type: 'plan', item_id: 'p', action: 'delete', ...clocked({ at: 1000 }) })
  maker.add({ item_type: 'plan', item_id: 'p', action: 'update', ...clocked({ at: 2000 }) })
  const journal = openCopy(maker.write(t.testdir()))
  const { steps, unknown } = await explain(journal, { kind: 'seq', seq: 4, text: '4' })
  t.same(
    steps.map(({ kind }) => kind),
    ['polled', 'appended', 'removed', 'polled', 'appended'],
  )
  t.notMatch(unknown.join('\n'), /cannot be read/)
})

t.test('CL-68 explain - a message that waited for the journal was held up by that', async t => {
  const maker = new JournalMaker()
  maker.add({ ...message(1, 1000), ...clocked({ at: 2000, wait: 999 }) })
  maker.add({ ...message(2, 2500), ...clocked({ at: 34_000, wait: 31_000 }) })
  maker.add({ ...message(3, 9000), ...clocked({ at: 34_001 }) })
  maker.add({ ...message(4, 35_000), ...clocked({ at: 35_100 }) })
  const eventsDir = maker.write(t.testdir())
  const told = async (id: number): Promise<object> =>
    await explain(openCopy(eventsDir), { kind: 'message', persona: 'river', id, text: `river:new:${id}` })
  t.match(await told(1), { commit_wait: null })
  const held = { commit_wait: { seq: 3, ts: iso(34_000), ms: 31_000 } }
  t.match(await told(2), held)
  t.match(await told(3), held, 'what could not be polled meanwhile waited for the same')
  t.match(await told(4), { commit_wait: null })
})

t.test('CL-68 explain, timeline - do not say that nothing ran where what would tell is missing', async t => {
  const maker = new JournalMaker()
  maker.note('producer_started', {}, clocked({ at: 0 }))
  maker.note('producer_stopped', { reason: 'SIGTERM' }, clocked({ at: 10_000 }))
  maker.next += 5
  maker.writer = 'w_3-c'
  maker.note('producer_started', {}, clocked({ at: 60_000 }))
  maker.add({ ...message(7, 20_000), ...clocked({ at: 61_000 }) })
  const eventsDir = maker.write(t.testdir())
  const name = { kind: 'message', persona: 'river', id: 7, text: 'river:new:7' } as const
  const { producer_gaps } = await explain(openCopy(eventsDir), name)
  t.match(producer_gaps, [{ from_seq: 3, to_seq: 9, ms: 40_000, records_missing: true }])
  const request = {
    fromMs: Number.NEGATIVE_INFINITY,
    toMs: Number.POSITIVE_INFINITY,
    personas: [],
    createdMs: undefined,
    mode: 'none',
    title: 'x',
  } as const
  const { spans } = await collectTimeline(openCopy(eventsDir), request)
  t.match(spans.find(({ kind }) => kind === 'no_producer')?.label, /at most this long.*missing/)
})

t.test('CL-44 explain, timeline - a store command before a producer is no producer that ended', async t => {
  const maker = new JournalMaker()
  maker.note('producer_started', {}, clocked({ at: 0 }))
  maker.add({ ...alert('open'), ...clocked({ at: 10_000 }) })
  maker.writer = 'w_2-b'
  maker.note('redaction', {}, clocked({ at: 20_000 }))
  maker.writer = 'w_3-c'
  maker.note('producer_started', {}, clocked({ at: 60_000 }))
  maker.add({ ...message(7, 15_000), ...clocked({ at: 61_000 }) })
  const gone = {
    agent: 'river',
    action: 'delete',
    item_type: 'message',
    item_id: 'river/7',
    summary: 'archived',
  }
  maker.add({ ...gone, ...clocked({ at: 62_000 }) })
  const eventsDir = maker.write(t.testdir())
  const name = { kind: 'message', persona: 'river', id: 7, text: 'river:new:7' } as const
  const { producer_gaps } = await explain(openCopy(eventsDir), name)
  t.match(producer_gaps, [{ after_command: false }, { ms: 40_000, after_command: true }])
  const stdout = new PassThrough()
  const io = { stdout, stderr: new PassThrough(), env: {}, signal: new AbortController().signal }
  await runProgram(replayProgram, ['explain', 'river:new:7', '--events', eventsDir], io)
  const said = String(stdout.read())
  t.match(said, /^ +archived +by \S+, when the producer saw that it was archived, seq 7/m)
  t.match(said, /no producer ran for up to 5.0s .*the producer before it ended without a note/)
  t.match(said, /no producer ran for 40s .*the writer before it was a store command/)
  const request = {
    fromMs: Number.NEGATIVE_INFINITY,
    toMs: Number.POSITIVE_INFINITY,
    personas: [],
    createdMs: undefined,
    mode: 'none',
    title: 'x',
  } as const
  await runProgram(replayProgram, ['at', '--seq', '3', '--events', eventsDir], io)
  t.match(
    String(stdout.read()),
    /1 live entity; waiting for a person: 1 \(open alerts, urgent unread mail, and/,
  )
  const { spans } = await collectTimeline(openCopy(eventsDir), request)
  const labels = spans.filter(({ kind }) => kind === 'no_producer').map(({ label }) => label)
  t.match(labels, [/ended without a note/, /store command/])
})

t.test('CL-44 explain - what was not recorded is unknown, not zero', async t => {
  const maker = new JournalMaker()
  maker.note('producer_started', {}, clocked({ at: 0 }))
  maker.add({
    ...message(1, 1000),
    ts: iso(60_000),
    payload: { schema_version: 1, persona: 'river', id: 1, from: 'argus', created: null, read: false },
  })
  maker.add({ ...message(1, 1000, true), ...clocked({ at: 70_000 }) })
  // Another start of the machine: its clocks begin anew.
  maker.add({ ...message(2, 65_000), ...clocked({ at: HOUR, booted: HOUR - 20_000 }) })
  const eventsDir = maker.write(t.testdir())
  const journal = openCopy(eventsDir)
  const first = await explain(journal, { kind: 'message', persona: 'river', id: 1, text: 'river:new:1' })
  t.same(
    first.steps.map(({ kind }) => kind),
    ['appended', 'read_upstream'],
  )
  t.match(first.steps[1]?.since, { wall_ms: 10_000, mono_ms: null, suspended_ms: null })
  t.match(first.unknown, [/^created:/, /^polled:/, /^when kim-tail or another reader printed it/])
  const second = await explain(journal, { kind: 'message', persona: 'river', id: 2, text: 'river:new:2' })
  t.same(
    second.host.map(({ kind, ms }) => [kind, ms]),
    [['rebooted', null]],
  )
  await t.rejects(explain(journal, { kind: 'message', persona: 'rivr', id: 2, text: 'rivr:new:2' }), {
    code: 'no_record',
    hint: /did you mean river/,
  })
  await t.rejects(explain(journal, { kind: 'message', persona: 'river', id: 40, text: 'river:new:40' }), {
    code: 'no_record',
    hint: /did you mean river:new:2/,
  })
})

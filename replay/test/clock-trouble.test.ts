/** Clocks that were set, that disagree, that nobody read, and times that name no moment. */

import t from 'tap'
import { JournalMaker } from '../../observer-sdk/dist-test/verify/journal-maker.js'
import { collectTimeline, explain, openCopy } from '../dist/internal.js'

const HOUR = 3_600_000
const start = Date.parse('2026-06-10T15:00:00.000Z')
const iso = (ms: number): string => new Date(start + ms).toISOString()
const everything = {
  fromMs: Number.NEGATIVE_INFINITY,
  toMs: Number.POSITIVE_INFINITY,
  personas: [],
  createdMs: undefined,
  mode: 'none',
  title: 'x',
} as const

function message(id: number, created: string, read = false): object {
  const payload = { schema_version: 1, persona: 'river', id, from: 'argus', content: 'hi', created, read }
  const item = { agent: 'river', item_type: 'message', item_id: `river/${id}`, payload }
  return read ? { ...item, action: 'update' } : { ...item, action: 'create', event: 'new' }
}

/** A record at a time of the wall clock, `passed` after the start by the others. */
const at = (wall: number, passed: number, slept = 0): object => ({
  ts: iso(wall),
  clock: { boot_ms: HOUR + passed, mono_ms: HOUR + passed - slept, wait_ms: 5 },
})

const named = (id: number): { kind: 'message'; persona: string; id: number; text: string } => ({
  kind: 'message',
  persona: 'river',
  id,
  text: `river:new:${id}`,
})

/** The wall clock is set back by an hour between messages 2 and 3. */
function setBack(dir: string): string {
  const maker = new JournalMaker()
  maker.add({ ...message(1, iso(9000)), ...at(10_000, 10_000) })
  maker.add({ ...message(2, iso(19_000)), ...at(20_000, 20_000) })
  maker.add({ ...message(3, iso(29_000)), ...at(30_000 - HOUR, 30_000) })
  maker.add({ ...message(4, iso(39_000)), ...at(40_000 - HOUR, 40_000) })
  return maker.write(dir)
}

t.test('CL-59 explain - of a clock that was set back, where the two clocks disagree for it', async t => {
  const eventsDir = setBack(t.testdir())
  for (const id of [3, 4]) {
    const told = await explain(openCopy(eventsDir), named(id))
    t.same(
      told.host.map(({ kind, from_seq, to_seq, ms }) => [kind, from_seq, to_seq, ms]),
      [['clock_set', 3, 4, -HOUR]],
      `message ${id}`,
    )
    t.match(told.unknown, [
      /^the delay: .*59m 59s after it arrived here.*the clock was set back/,
      /^when kim-tail or another reader printed it/,
    ])
  }
  const agreed = await explain(openCopy(eventsDir), named(2))
  t.same(agreed.host, [])
  t.notMatch(agreed.unknown, [/disagree/])
})

t.test('CL-59 explain - of a host whose clock is behind, what the last two records show', async t => {
  const maker = new JournalMaker()
  maker.add({ ...message(1, iso(9000)), ...at(10_000, 10_000) })
  maker.add({ ...message(2, iso(2 * HOUR)), ...at(HOUR + 10_000, HOUR + 10_000, HOUR - 1000) })
  const eventsDir = maker.write(t.testdir())
  const told = await explain(openCopy(eventsDir), named(2))
  t.same(
    told.host.map(({ kind, ms }) => [kind, ms]),
    [['suspended', HOUR - 1000]],
  )
  t.match(told.unknown, [
    /^the delay: .*the record that precedes the message/,
    /^when kim-tail or another reader printed it/,
  ])
})

t.test('CL-59 explain - does not call what may have been sleep a clock that was set', async t => {
  const maker = new JournalMaker()
  maker.add({ ...message(1, iso(9000)), ts: iso(10_000), clock: { mono_ms: 1000, wait_ms: 5 } })
  maker.add({ ...message(2, iso(11_000)), ts: iso(HOUR), clock: { mono_ms: 2000, wait_ms: 5 } })
  const eventsDir = maker.write(t.testdir())
  const told = await explain(openCopy(eventsDir), named(2))
  t.same(told.host, [])
  t.match(told.unknown, [
    /^whether the host slept: 1 record of that time without the clocks/,
    /^when kim-tail or another reader printed it/,
  ])
})

t.test('CL-35 CL-59 times - without a zone name no moment, wherever they are read', async t => {
  const maker = new JournalMaker()
  for (const [i, created] of ['2026-06-10T09:59:59', '3', 'Wed, 10 Jun 2026 02:00:00 GMT'].entries())
    maker.add({ ...message(i + 1, created), ...at(i * 1000, i * 1000) })
  maker.add({ ...message(9, '2026-06-10T17:00:09.000+02:00'), ...at(10_000, 10_000) })
  const bare = { ...maker.build(message(10, iso(0))), ts: '2026-06-10T15:00:11' }
  maker.line(`${JSON.stringify(bare)}\n`, bare.seq)
  const eventsDir = maker.write(t.testdir())
  for (const id of [1, 2, 3]) {
    const told = await explain(openCopy(eventsDir), named(id))
    t.equal(told.steps[0]?.kind, 'polled')
    t.match(told.unknown, [/^created: the server sent no valid time/])
  }
  const zoned = await explain(openCopy(eventsDir), named(9))
  t.match(zoned.steps[1]?.since, { wall_ms: 995, two_clocks: true })
  const timeline = await collectTimeline(openCopy(eventsDir), everything)
  t.equal(timeline.undated, 1)
  t.match(timeline.latency, { messages: 4, unknown: 3 })
})

t.test(
  'CL-59 timeline - says that the clock was set, and ends with the last record that it shows',
  async t => {
    const eventsDir = setBack(t.testdir())
    const timeline = await collectTimeline(openCopy(eventsDir), everything)
    t.same(timeline.clock_set, [{ from_seq: 3, to_seq: 4, ms: -HOUR }])
    const early = { ...everything, fromMs: start, toMs: start + 15_000 }
    t.match(await collectTimeline(openCopy(eventsDir), early), {
      records: 1,
      from_seq: 2,
      to_seq: 2,
    })
  },
)

t.test(
  'CL-67 timeline - what lasts over a clock that is set stands in parts, none longer than it was',
  async t => {
    const alert = (status: string): object => ({
      ...{ agent: 'river', item_type: 'alert', item_id: 'river/unreachable' },
      action: status === 'open' ? 'create' : 'update',
      payload: { schema_version: 1, persona: 'river', kind: 'unreachable', reason: 'x', status },
    })
    const maker = new JournalMaker()
    maker.add({ ...alert('open'), ...at(10_000, 10_000) })
    maker.add({ ...message(2, iso(19_000)), ...at(20_000, 20_000) })
    maker.add({ ...message(3, iso(29_000)), ...at(30_000 - HOUR, 30_000) })
    maker.add({ ...alert('cleared'), ...at(40_000 - HOUR, 40_000) })
    maker.add({ ...message(4, iso(49_000)), ...at(50_000, 50_000) })
    const eventsDir = maker.write(t.testdir())
    const { spans } = await collectTimeline(openCopy(eventsDir), everything)
    const parts = (kind: string): unknown[] =>
      spans
        .filter(span => span.kind === kind)
        .map(({ from, to, from_seq, to_seq }) => [from - start, (to ?? 0) - start, from_seq, to_seq])
        .sort((a, b) => Number(a[2]) - Number(b[2]))
    t.same(parts('outage'), [
      [10_000, 20_000, 2, 3],
      [30_000 - HOUR, 40_000 - HOUR, 4, 5],
    ])
    const runs = spans.filter(({ kind }) => kind === 'run')
    t.same(
      runs
        .map(({ to, from_seq, to_seq }) => [(to ?? 0) - start, from_seq, to_seq])
        .sort((a, b) => Number(a[1]) - Number(b[1])),
      [
        [20_000, 1, 3],
        [40_000 - HOUR, 4, 5],
        [50_000, 6, 6],
      ],
    )
  },
)

t.test(
  'CL-67 explain - tells by the order of the records what was open where the clock was set back',
  async t => {
    const maker = new JournalMaker()
    const open = { schema_version: 1, persona: 'river', kind: 'unreachable', reason: 'x', status: 'open' }
    maker.add({ ...message(1, iso(9000)), ...at(10_000, 10_000) })
    maker.add({
      ...{
        agent: 'river',
        item_type: 'alert',
        item_id: 'river/unreachable',
        action: 'create',
        payload: open,
      },
      ...at(20_000, 20_000),
    })
    maker.add({ ...message(3, iso(29_000 - HOUR)), ...at(30_000 - HOUR, 30_000) })
    maker.add({ ...message(4, iso(39_000 - HOUR)), ...at(40_000 - HOUR, 40_000) })
    const eventsDir = maker.write(t.testdir())
    const told = await explain(openCopy(eventsDir), named(4))
    t.match(told.alarms, [{ kind: 'unreachable', from_seq: 3, to_seq: null }])
    t.match(
      told.unknown,
      [/^when kim-tail or another reader printed it/],
      'it is not older than the journal, by a clock that was set back',
    )
    t.equal(told.unknown.length, 1)
    const early = await explain(openCopy(eventsDir), named(1))
    t.same(early.alarms, [], 'what came after its last record is not told of it')
  },
)

t.test('CL-67 explain, timeline - a clock that was set while no producer ran hides none of that', async t => {
  for (const set of [-HOUR, HOUR]) {
    const maker = new JournalMaker()
    maker.note('producer_started', {}, at(0, 0))
    maker.note('producer_stopped', { reason: 'SIGTERM' }, at(10_000, 10_000))
    maker.writer = 'w_3-c'
    maker.note('producer_started', {}, at(1_000_000 + set, 1_000_000))
    maker.add({ ...message(7, iso(400_000 + set)), ...at(1_000_100 + set, 1_000_100) })
    const eventsDir = maker.write(`${t.testdir()}/${set}`)
    const told = await explain(openCopy(eventsDir), named(7))
    t.match(told.producer_gaps, [{ from_seq: 3, to_seq: 4, ms: 600_000, stopped: true }])
    const { spans } = await collectTimeline(openCopy(eventsDir), everything)
    const gap = spans.find(({ kind }) => kind === 'no_producer')
    t.match(gap, { from: start + 10_000 + set, to: start + 1_000_000 + set })
  }
})

t.test('CL-59 explain - tells a second life, and one whose beginning is lost', async t => {
  const maker = new JournalMaker()
  maker.add({ ...message(1, iso(9000)), ...at(10_000, 10_000) })
  maker.add({ item_id: 'river/1', action: 'delete', summary: 'archived', ...at(11_000, 11_000) })
  maker.add({ ...message(1, iso(19_000)), ...at(20_000, 20_000) })
  maker.next += 1
  maker.add({ ...message(2, iso(29_000), true), entity_rev: 2, ...at(30_000, 30_000) })
  const eventsDir = maker.write(t.testdir())
  const twice = await explain(openCopy(eventsDir), named(1))
  t.same(
    twice.steps.map(({ kind, seq }) => [kind, seq]),
    [
      ...[
        ['created_upstream', null],
        ['polled', null],
        ['appended', 2],
        ['archived', 3],
      ],
      ...[
        ['created_upstream', null],
        ['polled', null],
        ['appended', 4],
      ],
    ],
  )
  t.match(twice.unknown, [
    /^delay of its second arrival \(seq 4\)/,
    /^when kim-tail or another reader printed it/,
  ])
  const late = await explain(openCopy(eventsDir), named(2))
  t.same(
    late.steps.map(({ kind, seq }) => [kind, seq]),
    [
      ['created_upstream', null],
      ['changed', 6],
    ],
  )
  t.match(late.steps[1], { note: /its first record that can be read; it was already read/ })
  t.match(late.unknown, [/^polled, appended:/, /^when kim-tail or another reader printed it/])
  t.equal(late.missing.exit, 5)
  await t.rejects(explain(openCopy(eventsDir), named(3)), {
    code: 'gap_found',
    exitCode: 5,
    hint: /seq_hole: seq 5 missing; find the damage: kim-replay verify/,
  })
})

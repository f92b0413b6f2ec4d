import type { JsonObject, ReadRecord } from '@kim/manifest'
import t from 'tap'
import { firstBytes, firstCodePoints, monitorLine, PythonFloat, pythonJson } from '../dist/event-line.js'
import {
  heartbeatEvent,
  type MonitorEvent,
  type MonitorLook,
  microsecondTime,
  monitorClocksOf,
  monitorEvent,
} from '../dist/monitor-event.js'
import { facts, message, record } from './records.js'

const look: MonitorLook = { facts, contentChars: 220, platform: 'linux' }
const line = (of: ReadRecord, how = look): string | undefined => {
  const event = monitorEvent(of, how)
  return event === undefined ? undefined : monitorLine(event)
}
const lifecycle = (event: string, payload: JsonObject, fields: Partial<ReadRecord> = {}): ReadRecord =>
  record(1234, { action: 'update', event, item_type: 'persona', item_id: 'river', payload, ...fields })
/** Names and values between the fields every event begins and ends with. */
const own = (of: ReadRecord): Record<string, unknown> => {
  const { event, source, ts, event_id, nonce, emitted, wake_class, ...rest } = JSON.parse(line(of) ?? '{}')
  t.ok(event && source && ts && event_id && nonce && emitted && wake_class)
  return rest
}

t.test('monitor - KS-75 KS-76 KS-77 a message, to the byte', async t => {
  const of = message(18342, { clock: { mono_ms: 5206680, boot_ms: 5207000.5 } })
  t.equal(
    line(of),
    '{"event": "new", "source": "kijito-inbox", "ts": "2026-06-10T14:03:22.114342+00:00", "id": 246, ' +
      '"from": "argus", "created": "2026-06-10T14:03:21Z", "persona": "river", "content": "tests are green", ' +
      '"event_id": "river:new:246", "nonce": "' +
      `${JSON.parse(line(of) ?? '').nonce}", ` +
      '"emitted": {"wall": "2026-06-10T14:03:22.114342+00:00", "monotonic": 5206.68, "boottime": 5207.0005, ' +
      '"src": {"monotonic": "CLOCK_MONOTONIC", "boottime": "CLOCK_BOOTTIME"}}, "wake_class": "mail"}',
  )
})

t.test('monitor - KS-75 the members of each kind, in order', async t => {
  const noise = { schema_version: 1, persona: 'river', cursor: 40, floor: 1, state: 'up', watched: true }
  t.same(Object.entries(own(lifecycle('armed', noise))), [
    ['cursor', 40],
    ['persona', 'river'],
  ])
  t.same(
    own(lifecycle('armed', { ...noise, silent_to: 90 })),
    { cursor: 90, persona: 'river' },
    'a seed ahead',
  )
  t.same(own(lifecycle('armed', { schema_version: 1 })), { cursor: null, persona: 'river' })
  t.same(own(lifecycle('recovered', { cursor: 7, status: 'cleared' }, { item_type: 'alert' })), {
    cursor: 7,
    persona: 'river',
  })
  t.same(Object.keys(own(lifecycle('seed_ahead', { ...noise, current_max: 5, seeded: 9 }))), [
    'seeded',
    'current_max',
    'persona',
  ])
  t.same(Object.keys(own(lifecycle('replay_capped', { ...noise, dropped: 5, capped_to: 9 }))), [
    'capped_to',
    'dropped',
    'persona',
  ])
  t.same(Object.keys(own(lifecycle('state_corrupt', { ...noise, reason: 'r', armed_at: 9 }))), [
    'armed_at',
    'reason',
    'persona',
  ])
  t.same(
    Object.keys(
      own(
        lifecycle('baseline_skipped', {
          ...noise,
          reason: 'r',
          unread_held: 'unknown',
          skipped: 2,
          id_range: [1, 2],
          armed_at: 9,
        }),
      ),
    ),
    ['armed_at', 'skipped', 'id_range', 'unread_held', 'reason', 'persona'],
  )
  t.same(own(lifecycle('persona_added', noise)), { persona: 'river' })
  const alert = {
    kind: 'bounded-window',
    status: 'open',
    walk: { next_before_id: 1 },
    window_floor: 9,
    reason: 'bounded-window: x',
    omitted: 3,
    cursor_at: 4,
    reconciled: true,
    pinned: true,
  }
  t.same(Object.keys(own(lifecycle('alert', alert, { item_type: 'alert' }))), [
    'reason',
    'omitted',
    'window_floor',
    'cursor_at',
    'reconciled',
    'pinned',
    'persona',
  ])
  const account = {
    kind: 'stranded-mail',
    status: 'open',
    reason: 'stranded-mail: x',
    stranded_inboxes: ['a'],
  }
  t.same(
    Object.keys(own(lifecycle('alert', account, { item_type: 'alert' }))),
    ['persona', 'reason', 'stranded_inboxes'],
    'E7: as the older monitor ordered it',
  )
  t.same(own(lifecycle('made_up', { reason: 'r', x: 1 })), { reason: 'r', persona: 'river' })
})

t.test('monitor - KS-79 a record that announces nothing prints nothing', async t => {
  t.equal(line(message(1, { event: undefined })), undefined)
  t.equal(line(message(1, { action: 'backfill' })), undefined)
})

t.test('monitor - KS-78 two lifecycle events of one millisecond differ in ts', async t => {
  t.equal(JSON.parse(line(lifecycle('armed', {})) ?? '').ts, '2026-06-10T14:03:22.114234+00:00')
  t.equal(microsecondTime(0, 7), '1970-01-01T00:00:00.000007+00:00')
  t.equal(
    JSON.parse(line(lifecycle('armed', {}, { ts: undefined })) ?? '').ts,
    '1970-01-01T00:00:00.000234+00:00',
    'still a time',
  )
})

t.test('monitor - content is cut by code points, left out, or null', async t => {
  const of = (content: JsonObject): ReadRecord => message(1, { payload: { id: 1, ...content } })
  t.equal(JSON.parse(line(of({ content: '\u{1f600}'.repeat(300) })) ?? '').content, '\u{1f600}'.repeat(220))
  t.equal(JSON.parse(line(of({ content: null })) ?? '').content, '')
  t.equal(JSON.parse(line(of({ content: 5 })) ?? '').content, '5')
  t.notOk('content' in JSON.parse(line(of({})) ?? ''))
  t.equal(JSON.parse(line(of({})) ?? '').from, null)
  const without = line(message(1), { ...look, contentChars: undefined })
  t.notOk('content' in JSON.parse(String(without)), 'bodies left out')
})

t.test('monitor - a line is at most 16384 bytes, and still the event it was', async t => {
  const max = 16384
  const huge = { facts, contentChars: 100_000, platform: 'linux' } as const
  for (const content of [
    'x'.repeat(90_000),
    '\u0001'.repeat(90_000),
    '\u{1f600}'.repeat(20_000),
    '"'.repeat(50_000),
  ]) {
    const printed = String(line(message(1, { payload: { ...message(1).payload, content } }), huge))
    const bytes = Buffer.byteLength(printed) + 1
    t.ok(bytes <= max && bytes > max / 2, `${bytes} bytes`)
    if (content.startsWith('x')) t.equal(bytes, max, 'not a byte is given away')
    t.equal(JSON.parse(printed).id, 246)
    t.ok(content.startsWith(JSON.parse(printed).content))
  }
  const many = lifecycle('alert', {
    reason: `stranded-mail: ${'y'.repeat(20_000)}`,
    stranded_inboxes: Array.from({ length: 5000 }, (_, i) => `inbox-${i}`),
  })
  const printed = String(line(many))
  t.ok(Buffer.byteLength(printed) < max)
  t.match(JSON.parse(printed).reason, /^stranded-mail:/, 'what consumers tell alerts apart by is kept')
})

t.test('monitor - what cannot even be identified within the limit is not printed', async t => {
  t.equal(line(message(1, { agent: 'p'.repeat(20_000), item_id: `${'p'.repeat(20_000)}/1` })), undefined)
})

t.test('monitor - unsafe characters are escapes, and the value is the same', async t => {
  const content = 'a\u202eb\u2028c\u009b\u001b[0m\nd'
  const printed = line(message(1, { payload: { ...message(1).payload, content } })) ?? ''
  t.notMatch(printed, /[\u0000-\u001f\u007f-\u009f\u2028-\u202e]/)
  t.equal(JSON.parse(printed).content, content)
  t.match(
    line(message(1, { payload: { id: 1, content: 'grün 界' } })),
    /grün 界/,
    'other text is not escaped',
  )
})

t.test('clocks - KS-78 what the platform cannot give is left out, an inverted pair is a defect', async t => {
  const at = (
    monotonicMs: number | undefined,
    boottimeMs: number | undefined,
    platform: NodeJS.Platform = 'linux',
  ): string => pythonJson({ ...monitorClocksOf({ ts: 'w', monotonicMs, boottimeMs }, platform) })
  t.equal(at(undefined, undefined), '{"wall": "w", "src": {}}')
  t.equal(at(12_000, undefined), '{"wall": "w", "monotonic": 12.0, "src": {"monotonic": "CLOCK_MONOTONIC"}}')
  t.equal(
    at(undefined, 5, 'darwin'),
    '{"wall": "w", "boottime": 0.005, "src": {"boottime": "CLOCK_MONOTONIC_RAW"}}',
  )
  t.equal(
    at(1005, 1000),
    '{"wall": "w", "monotonic": 1.005, "boottime": 1.005, "src": {"monotonic": "CLOCK_MONOTONIC", "boottime": "CLOCK_BOOTTIME"}}',
    'within the resolution of the coarser clock they are one reading',
  )
  t.equal(
    at(9000, 1000),
    '{"wall": "w", "monotonic": 9.0, "src": {"monotonic": "CLOCK_MONOTONIC"}, "clock_defect": {"kind": "boottime_below_monotonic", "boottime": 1.0, "boottime_src": "CLOCK_BOOTTIME", "monotonic": 9.0}}',
  )
})

t.test('heartbeat - is an event like the others', async t => {
  const moment = { ts: microsecondTime(0, 1), monotonicMs: undefined, boottimeMs: undefined }
  t.match(
    monitorLine(heartbeatEvent('river', undefined, 'river:heartbeat:00112233aabbccdd-1', moment, 'linux')),
    /^\{"event": "heartbeat", "source": "kijito-inbox", "ts": "1970-01-01T00:00:00\.000001\+00:00", "cursor": null, "persona": "river", "event_id": "river:heartbeat:00112233aabbccdd-1", "nonce": "\w{11}", "emitted": \{"wall": .*\}, "wake_class": "liveness"\}$/,
  )
})

t.test('spacing - is what Python prints', async t => {
  t.equal(
    pythonJson({ a: [1, 'x', null, true], b: { c: new PythonFloat(2), d: undefined }, e: [], f: {}, g: 0.1 }),
    '{"a": [1, "x", null, true], "b": {"c": 2.0}, "e": [], "f": {}, "g": 0.1}',
  )
})

t.test('monitor - JF-26 an event named like a member of every object is an event', async t => {
  for (const event of ['__proto__', 'constructor', 'toString']) {
    const look = { facts, contentChars: 220, platform: 'linux' } as const
    const made = monitorEvent(message(2, { event }), look)
    t.equal(made?.event, event)
    t.equal((JSON.parse(monitorLine(made as MonitorEvent) ?? '') as MonitorEvent).event, event)
  }
})

t.test('monitor - KS-75 every line is JSON and every message has one, whatever it holds', async t => {
  const parsed = (of: ReadRecord): Record<string, unknown> =>
    JSON.parse(line(of) ?? '') as Record<string, unknown>
  for (const ms of [1e24, 1e308]) t.ok(parsed(message(2, { clock: { mono_ms: ms, boot_ms: ms } })))
  const own = message(2).payload
  const large = { a: 'x'.repeat(20_000) }
  t.equal(parsed(message(2, { payload: { ...own, from: large } }))['event'], 'new')
  t.equal(
    parsed(message(2, { payload: { ...own, id: 'x'.repeat(20_000) } }))['id'],
    246,
    'as its entity says',
  )
  t.equal(pythonJson(new PythonFloat(1e21)), '1e+21')
  t.equal(pythonJson(new PythonFloat(Number.POSITIVE_INFINITY)), 'null')
})

t.test('text - is cut between characters, never inside one', async t => {
  t.equal(firstCodePoints('a\u{1f600}b', 2), 'a\u{1f600}')
  t.equal(firstBytes('a\u{1f600}b', 4), 'a')
  t.equal(firstBytes('äöü', 4), 'äö')
})

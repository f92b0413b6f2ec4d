import { parseRecordName, parseTime } from '@kim/cli-kit'
import t from 'tap'

const now = Date.parse('2026-06-10T14:03:22.500Z')
const iso = (text: string): string | undefined => {
  const ms = parseTime(text, now, true)
  return ms === undefined ? undefined : new Date(ms).toISOString()
}

t.test('time - CL-4 every way people write one', async t => {
  const cases: Readonly<Record<string, string>> = {
    now: '2026-06-10T14:03:22.500Z',
    today: '2026-06-10T00:00:00.000Z',
    yesterday: '2026-06-09T00:00:00.000Z',
    tomorrow: '2026-06-11T00:00:00.000Z',
    '15m': '2026-06-10T13:48:22.500Z',
    '-15m': '2026-06-10T13:48:22.500Z',
    '+15m': '2026-06-10T14:18:22.500Z',
    '1h30m': '2026-06-10T12:33:22.500Z',
    '15m ago': '2026-06-10T13:48:22.500Z',
    '5 minutes ago': '2026-06-10T13:58:22.500Z',
    'an hour ago': '2026-06-10T13:03:22.500Z',
    '2 weeks ago': '2026-05-27T14:03:22.500Z',
    '09:30': '2026-06-10T09:30:00.000Z',
    '23:59:59': '2026-06-10T23:59:59.000Z',
    '2026-06-01': '2026-06-01T00:00:00.000Z',
    '2026-06-01 10:20': '2026-06-01T10:20:00.000Z',
    '2026-06-01T10:20:30Z': '2026-06-01T10:20:30.000Z',
    '2026-06-01T10:20:30.123456+02:00': '2026-06-01T08:20:30.123Z',
    '2026-06-01 10:20:30 +0200': '2026-06-01T08:20:30.000Z',
    '@1700000000': '2023-11-14T22:13:20.000Z',
    '@1700000000.25': '2023-11-14T22:13:20.250Z',
  }
  for (const [text, expected] of Object.entries(cases)) t.equal(iso(text), expected, text)
})

t.test('time - what is none is refused', async t => {
  for (const text of [
    '',
    'soon',
    '25:00',
    '12:60',
    '2026-13-01',
    '2026-02-31',
    '2026-02-29T10:00Z',
    '2026-06-01T25:00',
    '@',
    '15',
    'ago',
    '1x',
    '--5m',
  ]) {
    t.equal(parseTime(text, now, true), undefined, text)
  }
})

t.test('time - without a zone it is local', async t => {
  const local = new Date(now)
  t.equal(parseTime('today', now), new Date(local.getFullYear(), local.getMonth(), local.getDate()).getTime())
  t.equal(parseTime('2026-06-01 10:20', now), new Date(2026, 5, 1, 10, 20).getTime())
})

t.test('record name - D5 seqs, messages and other events, colons in names included', async t => {
  t.same(parseRecordName('4711'), { kind: 'seq', seq: 4711, text: '4711' })
  t.match(parseRecordName('a/b/246'), { kind: 'message', persona: 'a/b', id: 246 })
  t.same(parseRecordName('river:new:246'), {
    kind: 'message',
    persona: 'river',
    id: 246,
    text: 'river:new:246',
  })
  t.same(parseRecordName('a:new:b:new:5'), {
    kind: 'message',
    persona: 'a:new:b',
    id: 5,
    text: 'a:new:b:new:5',
  })
  t.same(parseRecordName('river:alert:3bfb493ef12e906b-12'), {
    kind: 'event',
    persona: 'river',
    seq: 12,
    text: 'river:alert:3bfb493ef12e906b-12',
  })
  for (const text of [
    '',
    '0',
    '-1',
    'river',
    'river:new:',
    'river:new:x',
    'river:alert:zz-1',
    '99999999999999999999',
  ]) {
    t.equal(parseRecordName(text), undefined, text)
  }
})

import type { ReadRecord } from '@kim/manifest'
import t from 'tap'
import { message, record } from '../../monitor/dist-test/records.js'
import {
  bounded,
  compilePattern,
  createFilter,
  isOf,
  matchesGlob,
  type Selection,
} from '../dist/selection.js'
import { note } from './records.js'

const select = (selection: Partial<Selection>, of: ReadRecord): boolean =>
  createFilter({ personas: [], ...selection }, one => one.payload)(of)

t.test('glob - stars, question marks and plain text', async t => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['message.new', 'message.new', true],
    ['message.*', 'message.new', true],
    ['*.new', 'message.new', true],
    ['m?ssage.*', 'message.new', true],
    ['*', '', true],
    ['', '', true],
    ['', 'a', false],
    ['message', 'message.new', false],
    ['*a*b', 'aab', true],
    ['*a*b', 'aaba', false],
    ['a.c', 'abc', false],
    ['[ab]', 'a', false],
  ]
  for (const [pattern, text, expected] of cases)
    t.equal(matchesGlob(pattern, text), expected, `${pattern} ~ ${text}`)
  t.equal(matchesGlob('*a'.repeat(50), 'a'.repeat(2000).concat('b')), false, 'a hostile pattern ends')
})

t.test('pattern - lower case ignores case, a capital means it', async t => {
  t.ok(compilePattern('green', '--grep').test('GREEN'))
  t.notOk(compilePattern('Green', '--grep').test('green'))
  t.notOk(compilePattern('green', '--grep', true).test('GREEN'))
  t.ok(compilePattern('\\S+x', '--grep').test('aX'), 'the capital of an escape is none')
  t.throws(() => compilePattern('(', '--grep'), { code: 'usage', exitCode: 2 })
})

t.test('personas - match in exact case and never the notes of the journal', async t => {
  t.ok(isOf(['river'], message(1)))
  t.notOk(isOf(['River'], message(1)))
  t.ok(isOf([], note(1)), 'no name selects everything')
  t.notOk(isOf(['kim'], note(1)))
  t.ok(isOf(['kim'], record(1, { agent: 'kim', item_type: 'message' })), 'a persona may be called kim')
})

t.test('filter - CL-20 entries are news and messages that come to stand', async t => {
  t.ok(select({}, message(1)))
  t.ok(select({}, message(1, { action: 'backfill', event: undefined })))
  t.ok(select({}, message(1, { event: undefined })), 'a silenced message')
  t.notOk(select({}, message(1, { action: 'update', event: undefined })), 'a read mark')
  t.notOk(select({}, message(1, { action: 'delete', event: undefined, payload: undefined })))
  t.notOk(select({}, note(1)))
  t.ok(select({ records: 'all' }, note(1)))
  t.notOk(select({ records: 'news' }, message(1, { action: 'backfill' })), 'a backfill announces nothing')
})

t.test('filter - wake leaves heartbeats out and takes unclassified events in', async t => {
  const persona = (event: string): ReadRecord => record(1, { item_type: 'persona', action: 'update', event })
  t.ok(select({ wake: true }, message(1)))
  t.ok(select({ wake: true }, persona('seed_ahead')))
  t.ok(select({ wake: true }, persona('invented_tomorrow')))
  t.notOk(select({ wake: true }, persona('armed')))
  t.notOk(select({ wake: true }, message(1, { event: undefined })))
})

t.test('filter - type, sender, urgency, text, time and seq', async t => {
  t.ok(select({ types: ['message.new'] }, message(1)))
  t.ok(select({ types: ['message'] }, message(1)))
  t.notOk(select({ types: ['alert.*'] }, message(1)))
  t.notOk(select({ notTypes: ['message'] }, message(1)))
  t.ok(select({ senders: ['argus'] }, message(1)))
  t.notOk(select({ senders: ['Argus'] }, message(1)))
  t.notOk(select({ urgent: true }, message(1)))
  t.ok(select({ urgent: true }, message(1, { payload: { ...message(1).payload, urgent: true } })))
  t.ok(select({ grep: /^argus: tests/ }, message(1)))
  t.notOk(select({ grep: /red/ }, message(1)))
  const at = Date.parse('2026-06-10T14:03:22.114Z')
  t.ok(select({ sinceMs: at, untilMs: at }, message(1)))
  t.notOk(select({ sinceMs: at + 1 }, message(1)))
  t.notOk(select({ untilMs: at - 1 }, message(1)))
  t.notOk(select({ sinceMs: 0 }, message(1, { ts: 'noon' })), 'no readable time is outside every span')
  t.ok(select({ toSeq: 1 }, message(1)))
  t.notOk(select({ toSeq: 1 }, message(2)))
})

t.test('pattern - CL-39 a search that would not end is stopped, and the text left undecided', async t => {
  const endless = compilePattern('(a+)+$', '--grep')
  const text = `${'a'.repeat(60)}!`
  t.equal(bounded(endless, true).test(text), true)
  t.equal(bounded(endless, false).test(text), false)
  t.equal(bounded(compilePattern('(a|a)+$', '--grep'), true).test(text), true)
  t.equal(bounded(endless, false).test('xaaa'), true, 'what can be decided is')
  t.equal(bounded(endless, true).test('b'), false)
  const plain = compilePattern('deploy .* failed', '--grep')
  t.equal(bounded(plain, true), plain, 'most patterns need no guard')
})

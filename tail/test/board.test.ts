import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { JsonObject } from '@kim/manifest'
import t from 'tap'
import { consumerPath, consumersOf, writeConsumer } from '../../observer-sdk/dist/cursors/consumer-cursors.js'
import { judgeActivity } from '../dist/verbs/activity.js'
import { type BoardEntity, personaRows } from '../dist/verbs/personas.js'

const message = (persona: string, id: number, from: string, more: JsonObject = {}): BoardEntity => ({
  itemType: 'message',
  itemId: `${persona}/${id}`,
  payload: { persona, id, from, read: false, ...more },
})
const persona = (name: string, more: JsonObject = {}): BoardEntity => ({
  itemType: 'persona',
  itemId: name,
  payload: { persona: name, cursor: 0, floor: 0, state: 'up', unread_urgent: 0, ...more },
})
const pin = (name: string, at: number, status = 'open'): BoardEntity => ({
  itemType: 'alert',
  itemId: `${name}/bounded-window`,
  payload: { persona: name, kind: 'bounded-window', status, cursor_at: at },
})

t.test('activity - KS-71 yes, no and not known, about a covered span', async t => {
  const entities = [
    persona('argus', { floor: 100 }),
    message('argus', 200, 'river'),
    message('argus', 210, 'loom'),
  ]
  const since = (author: string, id: number): string => judgeActivity(author, id, entities).answer
  t.equal(since('river', 150), 'yes')
  t.equal(since('river', 200), 'no')
  t.equal(since('nobody', 150), 'no')
  t.equal(since('nobody', 50), 'unknown', 'below the floor')
  t.equal(since('river', 50), 'yes', 'evidence needs no coverage')
  t.equal(since('River', 150), 'no', 'exact case')
  t.equal(since('nobody', 100), 'no', 'at the floor')
})

t.test('activity - KS-71 the floor is the largest over inboxes, known_from included', async t => {
  const entities = [persona('argus', { floor: 10, known_from: 300 }), persona('loom', { floor: 90 })]
  t.match(judgeActivity('river', 299, entities), { answer: 'unknown', floor: 300 })
  t.match(judgeActivity('river', 300, entities), {
    answer: 'no',
    floor: 300,
    why: /^river wrote no message with an id above 300/,
  })
})

t.test('activity - KS-71 an open pin leaves what lies above it unknown', async t => {
  const entities = [persona('argus', { floor: 1 }), pin('argus', 500), message('argus', 600, 'river')]
  t.equal(judgeActivity('loom', 700, entities).answer, 'unknown')
  t.equal(judgeActivity('loom', 100, entities).answer, 'unknown')
  t.equal(judgeActivity('river', 550, entities).answer, 'yes', 'a later message by that author is recorded')
  t.equal(
    judgeActivity('loom', 700, [persona('argus', { floor: 1 }), pin('argus', 500, 'cleared')]).answer,
    'no',
  )
})

t.test('activity - KS-71 a no says that an inbox is watched no more', async t => {
  const entities = [persona('argus'), persona('loom', { watched: false }), message('loom', 3, 'river')]
  t.match(judgeActivity('river', 5, entities), { answer: 'no', why: /\(loom is not watched any more\)$/ })
  t.equal(judgeActivity('river', 2, entities).answer, 'yes')
  const watched = judgeActivity('river', 5, [persona('loom', { watched: true })])
  t.match(watched, { answer: 'no', why: /is known$/ })
})

t.test('personas - the liveness of one that is no longer watched is unknown', async t => {
  t.match(personaRows([persona('river', { watched: true }), persona('loom', { watched: false })]), [
    { persona: 'loom', state: 'unknown', watched: false },
    { persona: 'river', state: 'up', watched: true },
  ])
})

t.test('activity - without a finished first contact nothing is known', async t => {
  t.equal(judgeActivity('river', 5, []).answer, 'unknown')
  t.equal(judgeActivity('river', 5, [message('argus', 3, 'loom')]).answer, 'unknown')
  t.equal(judgeActivity('river', 5, [persona('argus'), message('loom', 3, 'loom')]).answer, 'unknown')
  t.equal(judgeActivity('river', 5, [persona('argus', { floor: null })]).answer, 'unknown')
  t.equal(judgeActivity('river', 5, [persona('argus')]).answer, 'no')
})

t.test('personas - B11 the agents of a journal without mail are listed, as -p knows them', async t => {
  const rows = personaRows([
    { itemType: 'plan', itemId: 'pln_1', agent: 'codex', payload: {} },
    { itemType: 'claim', itemId: 'clm_1', agent: 'claude', payload: {} },
  ])
  t.match(rows, [{ persona: 'claude', unread: 0, newest_id: null, state: 'unknown' }, { persona: 'codex' }])
})

t.test('personas - unread, newest, state and alerts, by name', async t => {
  const rows = personaRows([
    message('river', 7, 'argus'),
    message('river', 9, 'loom', { read: true }),
    persona('river', { unread_urgent: 2 }),
    pin('river', 4),
    pin('loom', 4, 'cleared'),
    { itemType: 'message', itemId: 'a/b/3', payload: undefined },
    persona('loom', { state: 'down' }),
    { itemType: 'plan', itemId: 'x', payload: {} },
  ])
  t.same(rows, [
    {
      persona: 'a/b',
      unread: 0,
      unread_journal: 0,
      unread_urgent: 0,
      newest_id: null,
      newest_from: null,
      state: 'unknown',
      watched: true,
      open_alerts: [],
    },
    {
      persona: 'loom',
      unread: 0,
      unread_journal: 0,
      unread_urgent: 0,
      newest_id: null,
      newest_from: null,
      state: 'down',
      watched: true,
      open_alerts: [],
    },
    {
      persona: 'river',
      unread: 1,
      unread_journal: 1,
      unread_urgent: 2,
      newest_id: 9,
      newest_from: 'loom',
      state: 'up',
      watched: true,
      open_alerts: ['bounded-window'],
    },
  ])
})

t.test('consumers - those of this journal, how far behind, and whether in use', async t => {
  const env = { XDG_STATE_HOME: t.testdir() }
  const place = { projectId: 'p', seq: 7, writer: null, checkpointSeq: 0 }
  writeConsumer(consumerPath(env, 'mine'), place)
  writeConsumer(consumerPath(env, 'other'), { ...place, projectId: 'q' })
  const broken = consumerPath(env, 'broken')
  mkdirSync(dirname(broken), { recursive: true })
  writeFileSync(broken, '{')
  mkdirSync(`${consumerPath(env, 'mine')}.lock`)
  const journal = { env, projectId: 'p', headSeq: 10 }
  t.match(consumersOf(journal), [
    { consumer: 'broken', seq: null, behind: null, in_use: false, file: broken },
    { consumer: 'mine', seq: 7, behind: 3, in_use: true, file: consumerPath(env, 'mine') },
  ])
  const touched = Date.UTC(2026, 5, 10)
  utimesSync(`${consumerPath(env, 'mine')}.lock`, new Date(touched), new Date(touched))
  const at = (nowMs: number): boolean | undefined =>
    consumersOf({ ...journal, only: 'mine', nowMs })[0]?.in_use
  t.equal(at(touched + 4999), true, 'its holder may still be there')
  t.equal(at(touched + 5000), false, 'a holder would have touched it since')
  t.match(consumersOf({ ...journal, only: 'other' }), [
    { consumer: 'other', seq: 7, behind: null, in_use: false },
  ])
  t.match(consumersOf({ ...journal, only: 'broken' }), [
    { consumer: 'broken', seq: null, behind: null, in_use: false },
  ])
})

t.test('activity - KS-71 a message or an alert that cannot be read leaves it unknown', async t => {
  const known = persona('argus', { floor: 1 })
  const gone = (itemType: string, itemId: string): BoardEntity => ({
    itemType,
    itemId,
    payload: undefined,
  })
  t.equal(judgeActivity('river', 5, [known, gone('alert', 'argus/bounded-window')]).answer, 'unknown')
  const redacted = { ...message('argus', 9, 'river'), payload: { persona: 'argus', redacted: true } }
  t.equal(judgeActivity('river', 5, [known, redacted]).answer, 'unknown')
  t.equal(judgeActivity('river', 9, [known, redacted]).answer, 'no', 'for every author')
})

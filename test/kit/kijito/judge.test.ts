import type { ReadRecord } from '@kim/manifest'
import t from 'tap'
import { objectionsTo } from './judge.js'

const sent = (id: number, more = {}) => ({
  id,
  to: 'argus',
  from: 'river',
  content: `text ${id}`,
  created: '2026-06-10T14:03:21Z',
  urgent: false,
  read: false,
  ...more,
})

/** A journal of one persona: a number is a message of it, an object any record. */
function journal(...lines: readonly (number | object)[]): ReadRecord[] {
  return lines.map((line, n) => {
    const message = (id: number): object => ({
      item_type: 'message',
      item_id: `argus/${id}`,
      action: 'create',
      payload: { id, from: 'river', content: `text ${id}` },
    })
    const record = typeof line === 'number' ? message(line) : line
    return { seq: n + 1, agent: 'argus', ...record } as ReadRecord
  })
}

const met = (floor: number): object => ({
  item_type: 'persona',
  item_id: 'argus',
  action: 'create',
  payload: { floor, cursor: floor },
})
const pin = (status: string): object => ({
  item_type: 'alert',
  item_id: 'argus/bounded-window',
  action: 'update',
  payload: { kind: 'bounded-window', status },
})
const judged = (records: readonly ReadRecord[], ...inbox: ReturnType<typeof sent>[]): string =>
  objectionsTo(records, new Map([['argus', inbox]])).join('; ')

t.test('judge - a sound journal is one that holds what was sent from its floor on', async t => {
  t.equal(judged(journal(met(0), 3, 5), sent(3), sent(5)), '')
  t.equal(
    judged(journal(3, met(3), 5), sent(1), sent(3), sent(5)),
    '',
    'what lies below the floor is not owed',
  )
  t.equal(judged(journal(met(0), pin('open'), 5, 3, pin('cleared'), 7), sent(3), sent(5), sent(7)), '')
})

t.test('judge - it sees whatever is wrong', async t => {
  t.match(judged(journal(met(0), 3), sent(3), sent(5)), /^argus\/5 is missing$/)
  t.match(judged(journal(met(0), 3, 3), sent(3)), /argus\/3 came in twice/)
  t.match(judged(journal(met(0), 5, 3), sent(3), sent(5)), /^argus\/3 stands after 5/)
  t.match(
    judged(journal(met(0), pin('open'), 5, pin('cleared'), 3), sent(3), sent(5)),
    /^argus\/3 stands after 5/,
  )
  t.match(judged(journal(met(0), 3), sent(3, { content: 'other' })), /^argus\/3 is not what was sent$/)
  t.match(judged(journal(met(0), 3), sent(3, { read: true })), /^argus\/3 was marked as read$/)
  t.match(judged(journal(met(0), 3)), /^argus\/3 was never sent$/)
  t.match(judged(journal(3), sent(3)), /^"argus" was never met$/)
})

import { Lanes, type Parcel } from '@kim/producer/internal'
import t from 'tap'

const at = (seq: number): { seq: number; writer: string } => ({ seq, writer: 'w_1-aa' })
const parcel = (seq: number): Parcel => ({
  event: { event_id: `x:${seq}` } as unknown as Parcel['event'],
  place: at(seq),
})

t.test('lanes - KS-72 one that is blocked stays where it is, and others go on', t => {
  const lanes = new Lanes(at(10))
  t.ok(lanes.refused('a', parcel(12), 0, 'broken'), 'it is news')
  t.notOk(lanes.wants('a', 13))
  t.ok(lanes.wants('b', 13))
  lanes.pass(at(20))
  t.same(lanes.held, [['a', at(10)]])
  t.same(lanes.start, at(20), 'nothing is read again for one that takes nothing')
  t.notOk(lanes.refused('a', parcel(12), 1000, 'broken'), 'it was said')
  t.end()
})

t.test('lanes - one that was freed catches up before it goes on with the others', t => {
  const lanes = new Lanes(at(10))
  lanes.refused('a', parcel(12), 0, 'broken')
  lanes.pass(at(20))
  lanes.freed('a')
  t.same(lanes.start, at(12))
  t.notOk(lanes.wants('a', 12))
  t.ok(lanes.wants('a', 15))
  t.notOk(lanes.wants('b', 15), 'others had it')
  lanes.took('a', at(15))
  t.notOk(lanes.pass(at(18)), 'further back than the rest')
  t.same(lanes.held, [['a', at(15)]])
  lanes.pass(at(20))
  t.same(lanes.held, [])
  t.ok(lanes.wants('a', 21))
  t.end()
})

t.test('lanes - one that is ahead within a batch is not given it again', t => {
  const lanes = new Lanes(at(10))
  lanes.took('a', at(14))
  t.same(lanes.held, [['a', at(14)]], 'what a crash would find')
  t.same(lanes.start, at(10))
  t.notOk(new Lanes(lanes.passed, lanes.held).wants('a', 14))
  lanes.pass(at(15))
  t.same(lanes.held, [])
  t.end()
})

t.test('lanes - KS-87 tries come after 1 s, doubling to 30 s', t => {
  const lanes = new Lanes(at(0))
  const waits: number[] = []
  for (let now = 0, n = 0; n < 7; n++) {
    lanes.refused('a', parcel(1), now, 'broken')
    waits.push((lanes.retryAtMs ?? 0) - now)
    t.same(lanes.due((lanes.retryAtMs ?? 0) - 1), [])
    now = lanes.retryAtMs ?? 0
    t.equal(lanes.due(now).length, 1)
  }
  t.same(waits, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
  t.end()
})

t.test('lanes - a rewind makes everything after it new to every lane', t => {
  const lanes = new Lanes(at(100), [['a', at(40)]])
  lanes.refused('b', parcel(101), 0, 'broken')
  lanes.rewind(at(7))
  t.same([lanes.start, lanes.held, lanes.retryAtMs], [at(7), [], undefined])
  t.ok(lanes.wants('b', 8))
  t.end()
})

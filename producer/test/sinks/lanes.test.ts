import { type Lane, Lanes, type QueuedEvent } from '@kim/producer/internal'
import t, { type Test } from 'tap'

const at = (seq: number): { seq: number; writer: string } => ({ seq, writer: 'w_1-aa' })
const parcel = (seq: number): QueuedEvent => ({
  event: { event_id: `x:${seq}` } as unknown as QueuedEvent['event'],
  place: at(seq),
})
const parcels = (from: number, to: number): QueuedEvent[] =>
  Array.from({ length: to - from + 1 }, (_, index) => parcel(from + index))

/** The places that a watermark would note. */
const places = ({ all }: Lanes): unknown[] => all.map(({ name, place }) => [name, place])

function add(t: Test, lanes: Lanes, name: string, from: number, to = from, nowMs = 0): Lane {
  const lane = lanes.add(name, parcels(from, to), nowMs)
  if (lane === undefined) throw new Error(`${name} misses ${from}`)
  t.equal(lane.queuedTo, to)
  return lane
}

function take(lanes: Lanes, lane: Lane, count: number): void {
  lane.took(count, 0)
  lanes.settle(lane)
}

/** What a held lane is like. */
function block(lane: Lane): void {
  lane.block = { tries: 1, sinceMs: 0, why: 'broken' }
}

t.test('lanes - KS-72 one that is held stays where it is, and others go on', async t => {
  const lanes = new Lanes(at(10))
  const lane = add(t, lanes, 'a', 12)
  block(lane)
  t.ok(lanes.wants('a', 13), 'its events wait')
  t.notOk(lanes.wants('a', 12))
  t.ok(lanes.wants('b', 13))
  lanes.pass(at(20))
  t.same(places(lanes), [['a', at(10)]])
  t.notOk(lanes.wants('b', 20))
  t.same([lanes.areBlocked, lanes.areWorking], [true, false])
  t.same(lanes.open(), at(20), 'nothing is read again for one that takes nothing')
})

t.test('lanes - one that has dealt with everything is where the sink is', async t => {
  const lanes = new Lanes(at(10))
  const lane = add(t, lanes, 'a', 12, 14)
  take(lanes, lane, 2)
  t.same(places(lanes), [['a', at(13)]], 'what a crash would find')
  t.notOk(new Lanes(lanes.passed, [['a', at(13)]]).wants('a', 13))
  take(lanes, lane, 1)
  t.same(places(lanes), [['a', at(14)]], 'ahead of the sink')
  lanes.pass(at(15))
  t.same(places(lanes), [])
  const next = add(t, lanes, 'a', 16)
  lanes.pass(at(16))
  t.ok(lanes.areWorking)
  take(lanes, next, 1)
  t.same(places(lanes), [])
  t.notOk(lanes.areWorking)
})

t.test('lanes - one that is too far behind misses events, and reads them again in order', async t => {
  const lanes = new Lanes(at(0))
  const lane = add(t, lanes, 'a', 1, 100)
  block(lane)
  t.equal(lanes.add('a', [parcel(101)], 5), undefined, 'its queue is full')
  t.notOk(lanes.wants('a', 102), 'nor what follows')
  lanes.pass(at(200))
  t.notOk(lanes.mustReopen)
  lane.block = undefined
  take(lanes, lane, 99)
  t.notOk(lanes.mustReopen, 'it still has one')
  take(lanes, lane, 1)
  t.ok(lanes.mustReopen)
  t.same(lanes.open(), at(100))
  t.notOk(lanes.mustReopen)
  t.notOk(lanes.wants('a', 100))
  t.ok(lanes.wants('a', 101))
  t.notOk(lanes.wants('b', 150), 'others had it')
  take(lanes, add(t, lanes, 'a', 101, 150), 50)
  lanes.pass(at(150))
  t.same([lanes.passed, places(lanes)], [at(200), [['a', at(150)]]], 'the rest is still to be read')
  lanes.pass(at(200))
  t.same(places(lanes), [])
})

t.test('lanes - what was not read to its end is read again', async t => {
  const lanes = new Lanes(at(100), [
    ['a', at(40)],
    ['b', at(60)],
  ])
  t.ok(lanes.mustReopen)
  t.same(lanes.open(), at(40))
  const lane = add(t, lanes, 'a', 50)
  t.same(lanes.open(), at(60), 'the reader failed; one that has an event still comes later')
  t.notOk(lanes.wants('a', 55))
  lanes.pass(at(100))
  take(lanes, lane, 1)
  t.ok(lanes.mustReopen)
  t.same(lanes.open(), at(50))
  t.ok(lanes.wants('a', 55))
})

t.test('lanes - one that is ahead of the sink, or with it, has nothing to catch up with', async t => {
  const lanes = new Lanes(at(100), [
    ['a', at(100)],
    ['b', at(104)],
  ])
  t.same(lanes.open(), at(100))
  t.same(places(lanes), [['b', at(104)]])
  t.notOk(lanes.wants('b', 104), 'it is not given it again')
  t.ok(lanes.wants('b', 105))
})

t.test('lanes - all queues together are bounded, and an empty one always takes events', async t => {
  const lanes = new Lanes(at(0))
  for (let n = 0; n < 20; n++) block(add(t, lanes, `lane ${n}`, n * 50 + 1, n * 50 + 50))
  t.equal(lanes.add('lane 0', [parcel(1001)], 0), undefined)
  add(t, lanes, 'another', 1002)
})

t.test('lanes - how long the event waits that has waited longest', async t => {
  const lanes = new Lanes(at(0))
  t.equal(lanes.waitMs(50), 0)
  const lane = add(t, lanes, 'a', 1, 100, 50)
  add(t, lanes, 'b', 101, 101, 70)
  t.equal(lanes.waitMs(80), 30)
  lanes.add('a', [parcel(102)], 75)
  lane.took(100, 90)
  t.equal(lanes.waitMs(100), 30, 'b')
  lanes.pass(at(200))
  take(lanes, lanes.of('b'), 1)
  t.equal(lanes.waitMs(100), 25, 'what was missed waits too')
})

t.test(
  'lanes - a rewind makes everything after it new to every lane, and ends what is under way',
  async t => {
    const lanes = new Lanes(at(100), [['a', at(40)]])
    const lane = add(t, lanes, 'b', 101)
    block(lane)
    lane.isUnderWay = true
    const { signal } = lane.stop
    lanes.rewind(at(7))
    t.ok(signal.aborted)
    t.notOk(lane.stop.signal.aborted, 'what comes is not')
    t.same([lanes.passed, lanes.areBlocked, lane.queue], [at(7), false, []])
    t.ok(lanes.wants('b', 8))
    t.equal(lanes.of('b'), lane, 'what comes waits for the end of it')
    t.notOk(lanes.all.some(({ name }) => name === 'a'))
  },
)

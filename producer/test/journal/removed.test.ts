import t from 'tap'
import { RemovedRevisions } from '../../dist/journal/removed.js'

const first = { path: 'seg-00000001.jsonl' }
const second = { path: 'seg-00000010.jsonl' }

t.test('removed revisions - of messages are let go with the segment that a checkpoint covers', t => {
  const removed = new RemovedRevisions()
  removed.add(['message', 'river/1', 3], 4, first)
  removed.add(['message', 'river/2', 2], 9, first)
  removed.add(['message', 'river/3', 5], 11, second)
  removed.forget(8)
  t.equal(removed.find('message', 'river/1'), 3, 'a segment is let go whole')
  removed.forget(9)
  t.equal(removed.find('message', 'river/1'), undefined)
  t.equal(removed.find('message', 'river/2'), undefined)
  t.equal(removed.find('message', 'river/3'), 5)
  t.same([...removed.entries()], [], 'no checkpoint keeps them')
  t.end()
})

t.test('removed revisions - of what may come back are kept, checkpoint or not', t => {
  const removed = new RemovedRevisions()
  removed.add(['alert', 'river/unreachable', 7], 4, first)
  removed.add(['alert', 'river/unreachable', 9], 6, second)
  removed.forget(100)
  t.equal(removed.find('alert', 'river/unreachable'), 9)
  t.same([...removed.entries()], [['alert', 'river/unreachable', 9]])
  removed.delete('alert', 'river/unreachable')
  t.equal(removed.find('alert', 'river/unreachable'), undefined)
  t.end()
})

t.test('removed revisions - the last removal of an entity counts, and none once it lives again', t => {
  const removed = new RemovedRevisions()
  removed.add(['message', 'river/1', 3], 4, first)
  removed.add(['message', 'river/1', 6], 11, second)
  t.equal(removed.find('message', 'river/1'), 6)
  t.equal(removed.find('message', 'argus/1'), undefined)
  t.equal(removed.find('alert', 'river/1'), undefined, 'by type and id')
  removed.delete('message', 'river/1')
  t.equal(removed.find('message', 'river/1'), undefined, 'in neither segment')
  t.end()
})

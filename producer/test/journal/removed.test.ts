import { EntityTable } from '@kim/manifest'
import t from 'tap'
import { RemovedRevisions } from '../../dist/journal/journal-state.js'

/** A table in which entities are removed and revived as a journal does it. */
function remembering(): {
  readonly table: EntityTable<object>
  readonly removed: RemovedRevisions
  remove(itemType: string, itemId: string, revision: number, seq: number): void
  revive(itemType: string, itemId: string, revision: number): void
} {
  const table = new EntityTable<object>()
  const removed = new RemovedRevisions(table)
  return {
    table,
    removed,
    remove(itemType, itemId, revision, seq) {
      table.remove(table.take(itemType, itemId), revision)
      removed.add(itemType, itemId, seq)
    },
    revive(itemType, itemId, revision) {
      table.put(table.take(itemType, itemId), {}, revision)
      removed.delete(itemType, itemId)
    },
  }
}

t.test('removed revisions - of messages are forgotten once a checkpoint covers them', async t => {
  const { table, removed, remove } = remembering()
  remove('message', 'river/1', 3, 4)
  remove('message', 'river/2', 2, 9)
  remove('message', 'river/3', 5, 11)
  removed.forget(8)
  t.equal(table.revisionOf('message', 'river/1'), undefined)
  t.equal(table.revisionOf('message', 'river/2'), 2)
  removed.forget(9)
  t.equal(table.revisionOf('message', 'river/2'), undefined)
  t.equal(table.revisionOf('message', 'river/3'), 5)
  t.same([...removed.entries()], [], 'no checkpoint keeps them')
})

t.test('removed revisions - a message without a known revision leaves nothing', async t => {
  const { table, removed } = remembering()
  removed.add('message', 'river/1', 4)
  removed.forget(4)
  t.equal(table.slotOf('message', 'river/1'), -1)
  t.equal(table.slotCount, 0)
})

t.test('removed revisions - of what may come back are kept, checkpoint or not', async t => {
  const { table, removed, remove, revive } = remembering()
  remove('alert', 'river/unreachable', 7, 4)
  remove('alert', 'river/unreachable', 9, 6)
  removed.forget(100)
  t.equal(table.revisionOf('alert', 'river/unreachable'), 9)
  t.same([...removed.entries()], [['alert', 'river/unreachable', 9]])
  revive('alert', 'river/unreachable', 10)
  t.same([...removed.entries()], [])
})

t.test('removed revisions - the last removal of an entity counts, and none once it lives again', async t => {
  const { table, removed, remove, revive } = remembering()
  remove('message', 'river/1', 3, 4)
  remove('message', 'river/1', 6, 11)
  removed.forget(10)
  t.equal(table.revisionOf('message', 'river/1'), 6)
  revive('message', 'river/1', 7)
  removed.forget(100)
  t.ok(table.get('message', 'river/1'), 'it lives')
  t.equal(table.revisionOf('message', 'river/1'), 7)
})

t.test('removed revisions - a million messages that come and go take the room of one segment', async t => {
  const { table, removed, remove, revive } = remembering()
  const segment = 10_000
  for (let seq = 1; seq <= 1_000_000; seq += 2) {
    revive('message', `river/${seq}`, 1)
    remove('message', `river/${seq}`, 2, seq + 1)
    if ((seq + 1) % segment === 0) removed.forget(seq + 1)
  }
  t.equal(table.size, 0)
  t.equal(table.slotCount, segment / 2)
})

import { join } from 'node:path'
import { memoryCursors, openObserver } from '@kim/observer-sdk'
import t from 'tap'
import { GrowingJournal } from './growing-journal.js'

t.test(
  'persona - a record that names another agent, or none, changes the view of whose it is (OB-38, OB-53)',
  async t => {
    const journal = new GrowingJournal(join(t.testdir({}), 'events'))
    t.teardown(() => journal.close())
    for (const id of [1, 2, 3])
      journal.grow(1, { item_id: `river/${id}`, payload: { schema_version: 1, read: false } })
    journal.grow(1, {
      item_type: 'persona',
      item_id: 'river',
      payload: { schema_version: 1, unread_urgent: 1 },
    })
    const { eventsDir } = journal
    const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
    t.teardown(() => observer.close())
    const changes = observer.changes()
    let pull = changes.next()
    t.equal(observer.persona('river').unread, 3)
    t.equal(observer.persona('river').attention, 1)
    for (const record of [
      { action: 'update', item_type: 'message', item_id: 'river/1', payload: { read: true } },
      { action: 'update', item_type: 'message', item_id: 'river/2', payload: { read: true }, agent: 'argus' },
      { action: 'delete', item_type: 'message', item_id: 'river/3' },
      { action: 'update', item_type: 'persona', item_id: 'river', payload: { unread_urgent: 0 } },
    ]) {
      journal.append(`${JSON.stringify({ v: 2, seq: ++journal.seq, ...record })}\n`)
      const { value } = await pull
      t.same(value?.personas, 'agent' in record ? ['argus', 'river'] : ['river'])
      pull = changes.next()
    }
    t.equal(observer.persona('river').unread, 0)
    t.equal(observer.persona('river').attention, 0)
    await observer.close()
    await pull
  },
)

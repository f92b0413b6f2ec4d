import { type Cursor, memoryCursors, openObserver } from '@kim/observer-sdk'
import t, { type Test } from 'tap'
import { type GrowingJournal, journalIn } from './growing-journal.js'

/** A message and an alert in another writer's frame, and one message in ours. */
function variedJournal(t: Test): GrowingJournal {
  const journal = journalIn(t)
  const other = (item_type: string, item_id: string, payload: object): void => {
    const facts = { v: 2, seq: ++journal.seq, action: 'create', event: 'new', agent: 'river' }
    journal.append(`${JSON.stringify({ ...facts, item_type, item_id, payload })}\n`)
  }
  other('message', 'river/9', { read: false, inner: { n: 1 } })
  other('alert', 'river/unreachable', { status: 'open' })
  journal.grow(1, { item_id: 'river/8', payload: { schema_version: 1, read: false, inner: { n: 1 } } })
  return journal
}

/** Does to a value what only a host without types can do. */
function change(t: Test, value: unknown, member: string): void {
  t.throws(() => Object.assign(value as object, { [member]: 'changed' }), TypeError)
}

t.test('state - what is given out cannot be changed by a host (OB-13)', async t => {
  const { eventsDir } = variedJournal(t)
  const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
  t.teardown(() => observer.close())
  const digest = observer.digest()
  change(t, observer.state.get('message', 'river/9')?.payload, 'read')
  change(t, observer.state.get('message', 'river/9')?.payload?.['inner'], 'n')
  const { newest, alerts } = observer.persona('river')
  t.equal(newest.length, 2)
  for (const view of newest) change(t, view.payload?.['inner'], 'n')
  for (const views of [newest, alerts]) change(t, views, 'length')
  for (const record of observer.activity) change(t, record.payload, 'read')
  t.equal(observer.activity.length, 3)
  t.equal(observer.persona('river').unread, 2)
  t.equal(observer.digest(), digest)
})

t.test('changes - a host that changes a cursor it was handed skips nothing (OB-13, OB-54)', async t => {
  const journal = variedJournal(t)
  const saved: Cursor[] = []
  const cursors = { load: () => undefined, save: (_: string, cursor: Cursor) => void saved.push(cursor) }
  const observer = await openObserver({ eventsDir: journal.eventsDir, cursors, from: 'start' })
  t.teardown(() => observer.close())
  const changes = observer.changes()
  const { value } = await changes.next()
  change(t, value?.cursor, 'seq')
  const pull = changes.next()
  journal.grow(1)
  await pull
  t.same(
    saved.map(({ seq }) => seq),
    [0, 4],
  )
})

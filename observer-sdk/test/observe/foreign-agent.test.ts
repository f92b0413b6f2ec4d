import { memoryCursors, openObserver } from '@kim/observer-sdk'
import t from 'tap'
import { journalIn } from './growing-journal.js'

t.test(
  'persona - a record that names another agent, or none, changes the view of whose it is (OB-38, OB-53)',
  async t => {
    const journal = journalIn(t)
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

t.test(
  'persona - a name with a slash is recognised by its length, and other views are kept (OB-38)',
  async t => {
    const journal = journalIn(t)
    const names = ['ri', 'river', 'river/mouth', 'loom/mouth']
    for (const persona of names)
      journal.grow(1, { item_id: `${persona}/1`, payload: { schema_version: 1, persona, read: false } })
    const observer = await openObserver({ eventsDir: journal.eventsDir, cursors: memoryCursors() })
    t.teardown(() => observer.close())
    const before = new Map(names.map(name => [name, observer.persona(name)]))
    const changes = observer.changes()
    const pull = changes.next()
    for (const item_id of ['river/mouth/1', '/'.repeat(1000), `loom/${'/'.repeat(1000)}`]) {
      const record = { action: 'update', item_type: 'message', item_id }
      const payload = { persona: 'river/mouth', read: true }
      journal.append(`${JSON.stringify({ v: 2, seq: ++journal.seq, ...record, payload })}\n`)
    }
    await pull
    await observer.waitFor(journal.seq)
    t.equal(observer.persona('river/mouth').unread, 0)
    for (const name of ['ri', 'loom/mouth'])
      t.equal(observer.persona(name).newest, before.get(name)?.newest, `${name}: nothing of it changed`)
    await observer.close()
  },
)

t.test('persona - whatever characters its name is made of, its messages are found (OB-38)', async t => {
  const journal = journalIn(t)
  const names = [
    'a',
    'ab',
    'a/b',
    'a"b',
    'a\\',
    'a\\/b',
    'fox 🦊',
    'fox 🦊🦊',
    'tab\t',
    'é',
    'e\u0301',
    '\ufffd',
    '__proto__',
  ]
  const say = (turn: number): void => {
    for (const [at, persona] of names.entries())
      for (let id = 1; id <= at + 1; id++)
        journal.grow(1, {
          item_id: `${persona}/${10 * turn + id}`,
          payload: { schema_version: 1, persona, read: false },
        })
  }
  say(0)
  const observer = await openObserver({ eventsDir: journal.eventsDir, cursors: memoryCursors() })
  t.teardown(() => observer.close())
  const unread = (): number[] => names.map(name => observer.persona(name).unread)
  t.same(
    unread(),
    names.map((_, at) => at + 1),
    'as the state was found',
  )
  say(10)
  await observer.waitFor(journal.seq)
  t.same(
    unread(),
    names.map((_, at) => 2 * (at + 1)),
    'and as records changed it',
  )
  t.equal(observer.persona('fox').unread, 0)
  t.same(
    observer.persona('a').newest.map(({ itemId }) => itemId),
    ['a/101', 'a/1'],
  )
})

import { setImmediate as turn } from 'node:timers/promises'
import { type Cursor, type CursorStore, openObserver, openTail } from '@kim/observer-sdk'
import t from 'tap'
import { journalIn } from './growing-journal.js'

const never = (): Promise<never> => new Promise(() => undefined)

for (const open of [openObserver, openTail]) {
  t.test(`close - ends a pull whose cursor store never answers: ${open.name} (OB-58)`, async t => {
    const journal = journalIn(t)
    for (const answered of [0, 1]) {
      let saves = 0
      const cursors: CursorStore = {
        load: () => undefined,
        save: () => (saves++ < answered ? undefined : never()),
      }
      const opened = await open({ eventsDir: journal.eventsDir, cursors, from: 'start' })
      const changes = opened.changes()
      for (let taken = 0; taken < answered; taken++) t.equal((await changes.next()).value?.records.length, 1)
      const pull = changes.next()
      await turn()
      await opened.close()
      t.same(await pull, { value: undefined, done: true })
    }
  })
}

t.test('signal - aborted while the cursor store does not answer, it ends the open (OB-58)', async t => {
  const journal = journalIn(t)
  const stop = new AbortController()
  const saved: Cursor[] = []
  const cursors: CursorStore = {
    load: () => {
      setImmediate(() => stop.abort())
      return never()
    },
    save: (_, cursor) => void saved.push(cursor),
  }
  const observer = await openObserver({ eventsDir: journal.eventsDir, cursors, signal: stop.signal })
  t.equal(observer.status.kind, 'closed')
  t.same(await observer.changes().next(), { value: undefined, done: true })
  t.same(saved, [], 'nothing takes the place of a cursor that was never seen')
})

t.test('signal - aborted before the cursor store is asked, it ends the open just so (OB-58)', async t => {
  const journal = journalIn(t)
  const stop = new AbortController()
  const cursors: CursorStore = { load: never, save: never }
  const opening = openObserver({ eventsDir: journal.eventsDir, cursors, signal: stop.signal })
  stop.abort()
  t.equal((await opening).status.kind, 'closed')
})

for (const open of [openObserver, openTail]) {
  t.test(`close - a change is asked beyond only after it: ${open.name} (OB-58)`, async t => {
    const journal = journalIn(t)
    const saved: Cursor[] = []
    const cursors: CursorStore = {
      load: () => undefined,
      save: (_, cursor) => {
        saved.push(cursor)
        return saved.length === 1 ? undefined : never()
      },
    }
    const opened = await open({ eventsDir: journal.eventsDir, cursors, from: 'start' })
    const changes = opened.changes()
    const { value } = await changes.next()
    await opened.close()
    t.same(await changes.next(), { value: undefined, done: true })
    t.same(saved.at(-1), value?.cursor, 'the storage was told all the same')
  })
}

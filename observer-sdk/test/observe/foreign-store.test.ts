// A store that is named in place of its journal, and payloads that other writers make long.
import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { defaultStore, memoryCursors, openObserver, openTail } from '@kim/observer-sdk'
import t from 'tap'
import { journalIn } from './growing-journal.js'

const cursors = memoryCursors()

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

for (const [name, open] of Object.entries({ openTail, openObserver })) {
  t.test(`${name} - C2 a store is taken for the journal in it`, async t => {
    const store = t.testdir({})
    const journal = journalIn(t, join(store, 'events'))
    for (const options of [{ eventsDir: store }, { storeDir: store }, { eventsDir: journal.eventsDir }]) {
      const tail = await open({ ...options, cursors })
      t.same([tail.eventsDir, tail.head.seq], [journal.eventsDir, journal.seq])
      await tail.close()
    }
    const inside = { load: cursors.load, save: cursors.save, directory: join(store, 'events', 'mine') }
    await t.rejects(open({ eventsDir: store, cursors: inside }), { code: 'usage' })
  })

  t.test(`${name} - C2 a store that does not exist yet is waited for`, async t => {
    const storeDir = join(t.testdir({}), 'store')
    const tail = await open({ storeDir, cursors })
    t.teardown(() => tail.close())
    t.same([tail.eventsDir, tail.status.kind], [join(storeDir, 'events'), 'no_store'])
    mkdirSync(dirname(tail.eventsDir), { recursive: true })
    const live = new Promise(resolve => tail.onStatus(({ kind }) => resolve(kind)))
    journalIn(t, tail.eventsDir)
    t.equal(await live, 'live')
  })

  t.test(`${name} - C2 neither a journal nor a store is refused`, async t => {
    await t.rejects(open({ cursors }), { code: 'usage' })
    await t.rejects(open({ storeDir: '', cursors }), { code: 'usage' })
  })
}

t.test('defaultStore - C2 is the store that is used when none is named', async t => {
  t.equal(defaultStore({ XDG_STATE_HOME: '/of/river' }), '/of/river/kim/stores/default')
  t.equal(defaultStore({}), join(homedir(), '.local/state/kim/stores/default'))
})

t.test('state - B3 keeps the bytes of a line, and no payload that was parsed', async t => {
  const eventsDir = join(t.testdir({}), 'events')
  const journal = journalIn(t, eventsDir)
  const cells = Array.from({ length: 2_000 }, (_, at) => ({ at, is: [at, `cell ${at}`, null] }))
  // White space that no known frame has, so that each line is parsed when it is read.
  const append = (count: number): number => {
    let bytes = 0
    for (let n = 0; n < count; n++) {
      const facts = { seq: ++journal.seq, action: 'create', item_type: 'plan', item_id: `p${journal.seq}` }
      const line = `{ "v": 2, ${JSON.stringify({ ...facts, payload: { status: 'todo', cells } }).slice(1)}\n`
      journal.append(line)
      bytes += line.length
    }
    return bytes
  }
  const before = held()
  let bytes = append(100)
  const observer = await openObserver({ eventsDir, cursors: memoryCursors(), activityLimit: 1 })
  t.teardown(() => observer.close())
  bytes += append(100)
  await observer.waitFor(journal.seq)
  t.equal(observer.board().sections.find(({ id }) => id === 'backlog')?.items, 200)
  const grown = held() - before
  t.comment(`${bytes} bytes of lines, ${grown} held`)
  t.ok(grown <= 1.2 * bytes + 30e6, `${bytes} bytes of lines take ${grown}`)
  t.equal(JSON.stringify(observer.state.get('plan', 'p2')?.payload?.['cells']), JSON.stringify(cells))
})

/** Bytes of the heap and of buffers that are in use. */
function held(): number {
  collect()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return arrayBuffers + heapUsed
}

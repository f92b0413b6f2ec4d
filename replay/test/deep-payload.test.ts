// Payloads that nest deeper than any reader must bear, where no line holds them.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { memoryCursors, openObserver } from '@kim/observer-sdk'
import t from 'tap'
import { GrowingJournal } from '../../observer-sdk/dist-test/observe/growing-journal.js'
import { fullScan } from '../dist/internal.js'

const DEPTH = 100_000

t.test('payload - JF-53 one in a blob that no line could hold reads as unavailable (OB-3)', async t => {
  const journal = new GrowingJournal(join(t.testdir({}), 'events'))
  t.teardown(() => journal.close())
  const { eventsDir } = journal
  const content = Buffer.from(`{"a":${'['.repeat(DEPTH)}${']'.repeat(DEPTH)},"persona":"river","read":false}`)
  const sha256 = createHash('sha256').update(content).digest('hex')
  const ref = { sha256, bytes: content.length }
  journal.put(`blobs/${sha256.slice(0, 2)}/${sha256}`, content)
  const { payload: _, ...draft } = JSON.parse(journal.line({ item_id: 'river/1' }))
  journal.append(`${JSON.stringify({ ...draft, payload_ref: ref })}\n`)
  const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
  t.teardown(() => observer.close())
  const isUnavailable = (id: string): void => {
    const view = observer.state.get('message', id)
    t.match(view, { payload: undefined, unavailable: ref })
    t.match(
      observer.persona('river').newest.find(({ itemId }) => itemId === id),
      { unavailable: ref },
    )
  }
  isUnavailable('river/1')
  journal.append(`${JSON.stringify({ ...draft, seq: 3, item_id: 'river/2', payload_ref: ref })}\n`)
  await observer.waitFor(3)
  isUnavailable('river/2')
  t.equal(observer.board().attentionRequired, 0)
  t.same(observer.anomalies, {}, 'it is there, and what the ref says')
  t.same((await fullScan(eventsDir)).anomalies, {})
})

t.test(
  'payload - JF-19 OB-11 one level too deep gives way to the older image, lists and objects in turn',
  async t => {
    const journal = new GrowingJournal(join(t.testdir({}), 'events'))
    t.teardown(() => journal.close())
    const { eventsDir } = journal
    const image = (payload: string): string =>
      journal
        .line({ item_id: 'river/1', payload: { schema_version: 1 } })
        .replace('{"schema_version":1}', payload)
    const levels = (pairs: number): string => `${'{"a":['.repeat(pairs)}${']}'.repeat(pairs)}`
    journal.append(image('{"n":1}'))
    // The newest line is parsed before anything is taken, so another one stands after it.
    journal.append(image(levels(128)) + journal.line({ item_id: 'river/2' }))
    const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
    t.teardown(() => observer.close())
    t.same(observer.state.get('message', 'river/1')?.payload, { n: 1 })
    t.equal(observer.digest(), (await fullScan(eventsDir)).digest)
    journal.append(image(levels(127)))
    await observer.waitFor(journal.seq)
    t.equal(JSON.stringify(observer.state.get('message', 'river/1')?.payload), levels(127))
  },
)

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { encodeCheckpointEntity } from '@kim/manifest'
import { memoryCursors, openObserver } from '@kim/observer-sdk'
import { openObserverWith } from '@kim/observer-sdk/internal'
import t, { type Test } from 'tap'
import { RecordSource } from '../../dist/tail/record-source.js'
import { StoredLines } from '../../dist/tail/stored-image.js'
import { type GrowingJournal, journalIn } from './growing-journal.js'

/** One entity, and after its first image so many more that only look like one. */
function flawedIn(t: Test, lines: number): GrowingJournal {
  const journal = journalIn(t)
  journal.grow(1, { item_id: 'river/a', payload: { schema_version: 1, n: 1 } })
  for (let line = 0; line < lines; line++) {
    const forged = journal.line({ item_id: 'river/a', payload: { schema_version: 1, n: 2 } })
    journal.append(forged.replace('"n":2', '"n":x'))
  }
  return journal
}

t.test('state - any number of lines that only look right costs one derivation more (OB-11)', async t => {
  const journal = flawedIn(t, 50)
  journal.append(journal.line({ item_id: 'river/b' }))
  const source = new RecordSource(journal.eventsDir)
  const derive = source.derive.bind(source)
  let derivations = 0
  source.derive = limits => {
    derivations++
    return derive(limits)
  }
  const observer = await openObserverWith(
    { eventsDir: journal.eventsDir, cursors: memoryCursors() },
    { source },
  )
  t.teardown(() => observer.close())
  t.equal(derivations, 1)
  t.equal(observer.state.get('message', 'river/a')?.payload?.['n'], 1)
  t.equal(derivations, 2)
  t.same(observer.anomalies, { malformed: 50 })
  t.equal(observer.state.size, 2)
})

t.test(
  'derivation - any number of newest lines that only look right costs one pass more (OB-11)',
  async t => {
    const { openSync } = fs
    t.teardown(() => {
      fs.openSync = openSync
      syncBuiltinESMExports()
    })
    let opened = 0
    fs.openSync = (...args) => {
      opened++
      return openSync(...args)
    }
    const opensOver = (lines: number): number => {
      const { eventsDir } = flawedIn(t, lines)
      syncBuiltinESMExports()
      opened = 0
      const derivation = new RecordSource(eventsDir).derive()
      let step = derivation.next()
      while (step.done !== true) step = derivation.next()
      t.equal(step.value.counts.get('malformed'), lines)
      t.equal(step.value.head.seq, 2)
      return opened
    }
    const once = opensOver(1)
    t.ok(once > 0)
    t.equal(opensOver(50), once)
  },
)

t.test('state - an iteration goes on past an entity whose only line is none (OB-11)', async t => {
  const journal = journalIn(t)
  for (const id of ['a', 'b', 'c', 'd']) {
    const line = journal.line({ item_id: `river/${id}`, payload: { schema_version: 1, n: 2 } })
    journal.append(id === 'b' ? line.replace('"n":2', '"n":x') : line)
  }
  const observer = await openObserver({ eventsDir: journal.eventsDir, cursors: memoryCursors() })
  t.teardown(() => observer.close())
  const seen = Array.from(observer.state.values('message'), ({ itemId, payload }) => [itemId, payload?.['n']])
  t.same(
    seen.filter(([, n]) => n !== undefined),
    [
      ['river/a', 2],
      ['river/c', 2],
      ['river/d', 2],
    ],
  )
  const again = Array.from(observer.state.values('message'), ({ itemId }) => itemId)
  t.same(again, ['river/a', 'river/c', 'river/d'])
})

t.test('state - a line of a checkpoint is an entity, whatever its slot holds by then', async t => {
  const entity = { item_type: 'plan', item_id: 'p1', entity_rev: 2, seq: 7, payload: { status: 'todo' } }
  const content = Buffer.from(encodeCheckpointEntity(entity, true))
  const lines = new StoredLines()
  lines.beginCheckpoint(7, content)
  const image = lines.addEntity(0, content.length)
  t.same(lines.entityOf(image)?.payload, entity.payload, 'a view that was asked for before')
  t.same(lines.entityOf(image, 'plan', 'p1')?.seq, 7)
  t.equal(lines.entityOf(image, 'plan', 'p2'), undefined, 'a line of another entity')
})

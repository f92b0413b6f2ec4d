import { memoryCursors, openObserver } from '@kim/observer-sdk'
import t from 'tap'
import { journalIn } from './growing-journal.js'

/** More than are kept in mind, in rounds of what one read holds. */
const ROUNDS = 51
const EACH = 1000

t.test('state - JF-49 an entity that came and went is known by its revision, and not for ever', async t => {
  const journal = journalIn(t)
  const { eventsDir } = journal
  journal.append(journal.line({ item_id: 'river/old' }))
  const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
  t.teardown(() => observer.close())
  const remove = { action: 'delete' }
  const comeAndGo = (id: string): string =>
    journal.line({ item_id: id, entity_rev: 1 }) + journal.line({ item_id: id, entity_rev: 2, ...remove })
  const again = (id: string): string => journal.line({ item_id: id, entity_rev: 9 })

  journal.append(comeAndGo('river/first') + again('river/first'))
  await observer.waitFor(journal.seq)
  t.equal(observer.anomalies.entity_rev_jump, 1, 'known as long as there are few')

  journal.append(comeAndGo('river/second') + journal.line({ item_id: 'river/old', entity_rev: 2, ...remove }))
  for (let round = 0; round < ROUNDS; round++) {
    journal.append(Array.from({ length: EACH }, (_, n) => comeAndGo(`river/${round}-${n}`)).join(''))
    await observer.waitFor(journal.seq)
  }
  t.equal(observer.state.size, 1)
  journal.append(again('river/second'))
  await observer.waitFor(journal.seq)
  t.equal(observer.anomalies.entity_rev_jump, 1, 'forgotten')
  journal.append(again('river/old'))
  await observer.waitFor(journal.seq)
  t.equal(observer.anomalies.entity_rev_jump, 2, 'what was there at the open is known for ever')
  const fresh = await openObserver({ eventsDir, cursors: memoryCursors() })
  t.equal(observer.digest(), fresh.digest())
  t.equal(observer.state.size, 3)
  await fresh.close()
})

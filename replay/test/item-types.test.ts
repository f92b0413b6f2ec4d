// Item types of one length, in segments that are read into the same memory one after another.
import { join } from 'node:path'
import { segmentName } from '@kim/manifest'
import { memoryCursors, openObserver } from '@kim/observer-sdk'
import t from 'tap'
import { GrowingJournal } from '../../observer-sdk/dist-test/observe/growing-journal.js'
import { fullScan } from '../dist/internal.js'

t.test(
  'cold start - OB-10 an entity keeps its item type, whatever stands in its place in another segment',
  async t => {
    const journal = new GrowingJournal(join(t.testdir({}), 'events'))
    t.teardown(() => journal.close())
    const { eventsDir } = journal
    // Line for line as long as the other: only types and numbers differ.
    const segment = (itemType: string): string => {
      let lines = ''
      for (const id of ['a', 'b', 'c'])
        lines += journal.line({ item_type: itemType, item_id: `river/${id}`, summary: 'x' })
      return lines
    }
    journal.put(segmentName(2), segment('alert'))
    journal.put(segmentName(5), segment('zorch'))
    const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
    t.teardown(() => observer.close())
    t.same(
      [...observer.state.values()].map(({ itemType, itemId }) => `${itemType} ${itemId}`).sort(),
      ['alert', 'zorch'].flatMap(type => ['a', 'b', 'c'].map(id => `${type} river/${id}`)),
    )
    t.equal(observer.digest(), (await fullScan(eventsDir)).digest)
  },
)

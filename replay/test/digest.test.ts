import { join } from 'node:path'
import { segmentName } from '@kim/manifest'
import { coldStart } from '@kim/observer-sdk'
import t from 'tap'
import { GrowingJournal } from '../../observer-sdk/dist-test/observe/growing-journal.js'
import { JournalMaker } from '../../observer-sdk/dist-test/verify/journal-maker.js'
import { fullScan } from '../dist/internal.js'

t.test('CL-39 digest - ends at a signal, and says how far it is', async t => {
  const maker = new JournalMaker()
  maker.add()
  maker.roll()
  maker.add()
  const eventsDir = maker.write(t.testdir())
  const cursor = { checkpoint_seq: 0, seq: 1, writer: null }
  const told: number[] = []
  const onProgress = ({ done, total }: { readonly done: number; readonly total: number }): void => {
    told.push(done / total)
  }
  const whole = await fullScan(eventsDir, cursor, { onProgress })
  t.equal(told.at(-1), 1)
  t.equal((await coldStart(eventsDir, cursor)).result.digest, whole.digest)
  const reason = new Error('told to end')
  const signal = AbortSignal.abort(reason)
  await t.rejects(fullScan(eventsDir, cursor, { signal }), reason)
  await t.rejects(coldStart(eventsDir, cursor, signal), reason)
})

t.test('digest - OB-10 OB-40 the last with the highest seq counts, one without effect too', async t => {
  const journal = new GrowingJournal(join(t.testdir({}), 'events'))
  t.teardown(() => journal.close())
  journal.writer = 'w_2-bbb'
  journal.grow()
  journal.seq -= 1
  journal.writer = 'w_3-ccc'
  journal.transaction(2, 1)
  journal.append('no record\n')
  const { eventsDir } = journal
  const cursor = { checkpoint_seq: 0, seq: 2, writer: 'w_3-ccc' }
  t.same((await coldStart(eventsDir)).result.cursor, cursor)
  t.same((await fullScan(eventsDir)).cursor, cursor)
})

t.test(
  'digest - OB-11 an image that is none gives way to the next older, however many segments hold such a one',
  async t => {
    const journal = new GrowingJournal(join(t.testdir({}), 'events'))
    t.teardown(() => journal.close())
    const image = (n: number): string =>
      journal.line({ item_id: 'river/a', payload: { schema_version: 1, n } })
    // After each one a line that is sound: the newest of a segment is parsed before anything is taken.
    const other = (): string => journal.line({ item_id: 'river/b' })
    journal.append(image(1))
    for (let segment = 0; segment < 3; segment++) {
      const number = journal.seq + 1
      journal.put(segmentName(number), image(2).replace('"n":2', '"n":x') + other())
    }
    const { eventsDir } = journal
    const { digest, entities } = await fullScan(eventsDir)
    t.equal(entities, 2)
    t.match((await coldStart(eventsDir)).result, { digest, entities })
  },
)

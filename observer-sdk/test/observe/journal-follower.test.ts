import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { memoryCursors } from '@kim/observer-sdk'
import { openObserverWith } from '@kim/observer-sdk/internal'
import t from 'tap'
import { JournalFollower } from '../../dist/deliver/journal-follower.js'
import { RecordSource } from '../../dist/tail/record-source.js'
import { GrowingJournal, journalIn } from './growing-journal.js'

const SECOND = 'd00d'.repeat(8)
const THIRD = 'cafe'.repeat(8)

t.test('tail - a journal replaced while the one before is looked at is noticed (OB-18, F3)', async t => {
  const store = t.testdir()
  const eventsDir = join(store, 'events')
  const replace = (name: string): void => {
    rmSync(eventsDir, { recursive: true })
    renameSync(join(store, name), eventsDir)
  }
  for (const [name, id] of [
    ['events', undefined],
    ['second', SECOND],
    ['third', THIRD],
  ] as const)
    new GrowingJournal(join(store, name), id).close()

  const source = new RecordSource(eventsDir)
  const ground = source.ground.bind(source)
  let during = (): void => undefined
  source.ground = function* () {
    const found = yield* ground()
    during()
    during = () => undefined
    return found
  }
  const follower = new JournalFollower(source, {
    onStatus: () => undefined,
    onBug: bug => t.fail(String(bug)),
  })
  t.teardown(() => follower.close())
  await follower.open()
  replace('second')
  during = () => replace('third')
  follower.onNews(source.look())
  await follower.news.next(0)
  t.equal(follower.ground.projectId, THIRD)
  t.equal(follower.news.count, 1, 'and reported once everything is known')
})

t.test('observer - OB-60 what follows the port asks it alone where records come from', async t => {
  const journal = journalIn(t, join(t.testdir(), 'events'))
  journal.grow(3)
  journal.roll()
  const source = new RecordSource(journal.eventsDir)
  const nowhere = join(t.testdirName, 'nowhere', 'events')
  const observer = await openObserverWith(
    { eventsDir: nowhere, cursors: memoryCursors(), from: 'start' },
    { source },
  )
  t.teardown(() => observer.close())
  const seqs: number[] = []
  for await (const { records } of observer.changes()) {
    seqs.push(...records.map(({ seq }) => seq))
    if (seqs.length === 5) journal.grow()
    if (seqs.length === 6) break
  }
  t.same(seqs, [1, 2, 3, 4, 5, 6])
  const direct = await openObserverWith({ eventsDir: journal.eventsDir, cursors: memoryCursors() }, {})
  t.teardown(() => direct.close())
  t.equal(observer.digest(), direct.digest())
  t.equal(observer.projectId, direct.projectId)
  t.same(observer.status, direct.status)
})

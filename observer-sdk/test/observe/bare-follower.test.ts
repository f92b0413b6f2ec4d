import { renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { BareFollower } from '../../dist/deliver/bare-follower.js'
import { JournalSource } from '../../dist/tail/journal-source.js'
import { GrowingJournal } from './growing-journal.js'

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

  const source = new JournalSource(eventsDir)
  const ground = source.ground.bind(source)
  let during = (): void => undefined
  source.ground = function* (seq) {
    const found = yield* ground(seq)
    during()
    during = () => undefined
    return found
  }
  let told = 0
  const follower = new BareFollower(
    source,
    () => told++,
    bug => t.fail(String(bug)),
  )
  t.teardown(() => follower.close())
  await follower.open(0)
  replace('second')
  during = () => replace('third')
  follower.onNews(source.look())
  for (let turns = 0; turns < 20 && told === 0; turns++) await new Promise(resolve => setImmediate(resolve))
  t.equal(follower.projectId, THIRD)
  t.equal(told, 1, 'and told once everything is known')
})

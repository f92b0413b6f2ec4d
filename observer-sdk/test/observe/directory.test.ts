// How a directory is looked at, where it takes more than a listing at each look.
import { mkdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { eventsPaths, segmentName } from '@kim/manifest'
import t, { type Test } from 'tap'
import { JournalDirectory } from '../../dist/tail/directory.js'
import { notifies } from '../../dist/watch/watch.js'

/** What is found of a segment that came without leaving a trace in the directory's time of change, in seconds. */
function foundWithoutTrace(t: Test, changed: number): readonly number[] {
  const eventsDir = join(t.testdir({}), 'events')
  mkdirSync(eventsDir)
  writeFileSync(join(eventsDir, segmentName(1)), '')
  utimesSync(eventsDir, changed, changed)
  const directory = new JournalDirectory(eventsDir)
  directory.scan()
  writeFileSync(join(eventsDir, segmentName(7)), '')
  utimesSync(eventsDir, changed, changed)
  directory.scan()
  return directory.listing.segments.map(({ number }) => number)
}

t.test(
  'directory - OB-21 an archive of any size is not listed for what a tick may hide beside it',
  async t => {
    for (const [innerMs, found] of [
      [undefined, []],
      // As when it is time to look inside.
      [0, [1]],
    ] as const) {
      const eventsDir = join(t.testdir({}), 'events')
      const { archive } = eventsPaths(eventsDir)
      mkdirSync(archive, { recursive: true })
      utimesSync(archive, 1, 1)
      const directory = new JournalDirectory(eventsDir, innerMs)
      directory.scan()
      writeFileSync(join(archive, segmentName(1)), '')
      directory.scan()
      t.same(
        directory.listing.segments.map(({ number }) => number),
        found,
      )
    }
  },
)

const now = (): number => Math.floor(Date.now() / 1000)

t.test('directory - OB-21 it is listed again within one tick of its clock', async t => {
  t.same(foundWithoutTrace(t, now() + 60), [1, 7], 'a time to come, in whole seconds')
  t.same(foundWithoutTrace(t, now() + 60.0123), [1, 7], 'a time to come')
  t.same(foundWithoutTrace(t, now()), [1, 7], 'a clock of whole seconds')
})

// What is written on another machine is stamped by another clock, and other systems' are not known to be fine.
const skip = !notifies(process.cwd())

t.test('directory - OB-21 it is not listed again once nothing can hide behind its time', async t => {
  t.same(foundWithoutTrace(t, now() - 60), [1], 'a minute ago')
  t.same(foundWithoutTrace(t, now() - 0.7877), [1], 'a while ago, by a clock that tells parts of a second', {
    skip,
  })
})

t.test('directory - OB-18 a segment that was replaced is reported, within one tick too', async t => {
  const eventsDir = join(t.testdir({}), 'events')
  mkdirSync(eventsDir)
  for (const number of [1, 2]) writeFileSync(join(eventsDir, segmentName(number)), '')
  writeFileSync(join(eventsDir, 'new'), '')
  const changed = now() + 60.0123
  utimesSync(eventsDir, changed, changed)
  const directory = new JournalDirectory(eventsDir)
  directory.scan()
  for (const number of [1, 2]) {
    const opened = directory.openSegment(number)
    if (!opened.ok) throw new Error('it exists')
    directory.known.set(number, opened.value.identity)
    directory.closeSegment(number, opened.value)
  }
  t.equal(directory.scan().replaced, false)
  renameSync(join(eventsDir, 'new'), join(eventsDir, segmentName(1)))
  utimesSync(eventsDir, changed, changed)
  t.equal(directory.scan().replaced, true)
})

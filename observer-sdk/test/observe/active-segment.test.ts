import {
  appendFileSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { segmentName } from '@kim/manifest'
import { memoryCursors, type Observer, openObserver } from '@kim/observer-sdk'
import { openObserverWith } from '@kim/observer-sdk/internal'
import t, { type Test } from 'tap'
import { JournalDirectory, type Tip } from '../../dist/tail/directory.js'
import { JournalReader } from '../../dist/tail/journal-reader.js'
import { until } from '../until.js'
import { type GrowingJournal, journalIn } from './growing-journal.js'

// Where nothing is held there is nothing to see; the descriptors of a process can be listed on Linux only.
const skip = process.platform !== 'linux'

const OTHER = 'feedfacefeedfacefeedfacefeedface'

/** What this process holds open below a directory, but for what writes there. */
function held(eventsDir: string, journal: GrowingJournal): string[] {
  const open = readdirSync('/proc/self/fd').flatMap(fd => {
    try {
      return Number(fd) === journal.fd ? [] : [readlinkSync(join('/proc/self/fd', fd))]
    } catch {
      return []
    }
  })
  return open.filter(path => path.startsWith(eventsDir)).map(path => path.slice(eventsDir.length + 1))
}

/** Waits until observers have looked at what there was when they were opened, however busy the machine is. */
async function lookedAt(): Promise<void> {
  await sleep(30)
  for (let turns = 0; turns < 3; turns++) await turn()
}

/** An observer that has read one append, and so holds the segment. */
async function holding(t: Test): Promise<{ journal: GrowingJournal; observer: Observer; path: string }> {
  const journal = journalIn(t)
  const pace = { slowMs: 25, fastMs: 25 }
  const observer = await openObserverWith(
    { eventsDir: journal.eventsDir, cursors: memoryCursors() },
    { pace },
  )
  t.teardown(() => observer.close())
  await lookedAt()
  journal.grow(2)
  await observer.waitFor(3)
  t.same(held(journal.eventsDir, journal), [segmentName(1)], 'it is held')
  return { journal, observer, path: join(journal.eventsDir, segmentName(1)) }
}

/** A directory that holds its newest segment, and was looked at once. */
function heldDirectory(t: Test): {
  readonly journal: GrowingJournal
  readonly directory: JournalDirectory
  readonly tip: Tip | undefined
} {
  const journal = journalIn(t)
  const directory = new JournalDirectory(journal.eventsDir)
  directory.hold(true)
  t.teardown(() => directory.hold(false))
  directory.scan()
  return { journal, directory, tip: directory.tip }
}

t.test('active segment - is read on through one descriptor, which a roll lets go', { skip }, async t => {
  const { journal, observer } = await holding(t)
  for (let i = 0; i < 20; i++) {
    journal.grow(1 + (i % 3))
    if (i % 4 === 0) await observer.waitFor(journal.seq)
  }
  await observer.waitFor(journal.seq)
  t.same(held(journal.eventsDir, journal), [segmentName(1)])
  journal.roll()
  const rolled = segmentName(journal.segment)
  journal.grow(1)
  await observer.waitFor(journal.seq)
  await until(() => !held(journal.eventsDir, journal).includes(segmentName(1)))
  journal.grow(1)
  await observer.waitFor(journal.seq)
  t.same(held(journal.eventsDir, journal), [rolled])
  t.same(observer.anomalies, {})
})

t.test('active segment - lines and batches of any size are read once each', { skip }, async t => {
  const { journal, observer } = await holding(t)
  const seqs: number[] = []
  const consumed = (async () => {
    for await (const change of observer.changes()) seqs.push(...change.records.map(({ seq }) => seq))
  })()
  for (let i = 0; i < 60; i++) {
    // From a few bytes to more than is ever read at a time.
    const content = 'x'.repeat([9, 30_000, 60_000][i % 3] ?? 0)
    journal.grow(1 + (i % 5), { payload: { schema_version: 1, content } })
    if (i % 7 < 4) await new Promise(resolve => setImmediate(resolve))
  }
  // More than is read in one turn, and more while it is: the reader is then ahead of what the last look saw.
  const content = 'x'.repeat(60_000)
  for (let i = 0; i < 70; i++) {
    journal.grow(i === 0 ? 60 : 4, { payload: { schema_version: 1, content } })
    await new Promise(resolve => setImmediate(resolve))
  }
  await until(() => seqs.at(-1) === journal.seq)
  t.same(
    seqs,
    Array.from({ length: journal.seq - 1 }, (_, i) => i + 2),
  )
  t.same(observer.anomalies, {})
  await observer.close()
  await consumed
})

t.test('active segment - is let go before close resolves (OB-58)', { skip }, async t => {
  const { journal, observer } = await holding(t)
  await observer.close()
  t.same(held(journal.eventsDir, journal), [])
})

for (const [manner, isLinked] of [
  ['', false],
  // Nothing about the held file says then that it was replaced.
  [' and has another name left', true],
] as const) {
  t.test(`active segment - replaced by a rename while held${manner} is another one`, { skip }, async t => {
    const { journal, observer, path } = await holding(t)
    if (isLinked) linkSync(path, `${journal.eventsDir}-kept`)
    copyFileSync(path, `${path}.tmp`)
    renameSync(`${path}.tmp`, path)
    await until(() => observer.anomalies.segment_replaced === 1)
    // Its first writer goes on, and is heard no more.
    journal.grow(1)
    await sleep(60)
    t.equal(observer.head.seq, 3)
    t.notMatch(held(journal.eventsDir, journal), [/deleted|kept/])
  })
}

t.test('active segment - a replacement is reported once, whatever is appended then', { skip }, async t => {
  const journal = journalIn(t)
  const path = join(journal.eventsDir, segmentName(1))
  // At the default pace no unasked look comes between.
  const observer = await openObserver({ eventsDir: journal.eventsDir, cursors: memoryCursors() })
  t.teardown(() => observer.close())
  await lookedAt()
  journal.grow(2)
  await observer.waitFor(3)
  copyFileSync(path, `${journal.eventsDir}.tmp`)
  renameSync(`${journal.eventsDir}.tmp`, path)
  await until(() => observer.anomalies.segment_replaced === 1)
  await sleep(30)
  for (let i = 0; i < 3; i++) {
    appendFileSync(path, journal.line())
    await observer.waitFor(journal.seq)
    await sleep(30)
  }
  t.same(observer.anomalies, { segment_replaced: 1 })
})

t.test(
  'active segment - grown between a look and its opening is not taken for cut short',
  { skip },
  async t => {
    const { journal, directory, tip } = heldDirectory(t)
    // More than is read at a time: the second part is read through what was opened for the first.
    journal.grow(20, { payload: { schema_version: 1, content: 'x'.repeat(30_000) } })
    const reader = new JournalReader(directory, { segment: 1, offset: 0, peak: 0 })
    const { lost, entries } = reader.read(1024 * 1024, tip)
    t.equal(lost, undefined)
    t.equal(entries.length, 21)
  },
)

t.test(
  'active segment - a read-ahead that may not have seen all says so, until a look has',
  { skip },
  async t => {
    const { journal, directory } = heldDirectory(t)
    const reader = new JournalReader(directory, { segment: 1, offset: 0, peak: 0 })
    t.equal(reader.read(1024 * 1024).entries.length, 1)
    journal.grow(20, { payload: { schema_version: 1, content: 'x'.repeat(30_000) } })
    const readAhead = (): Tip => {
      const ahead = directory.readAhead()
      if (typeof ahead === 'string') throw new Error(ahead)
      return ahead
    }
    // All of it in this turn, though the read-ahead read the first two records only.
    t.equal(reader.read(1024 * 1024, readAhead()).entries.length, 20)
    journal.grow(1)
    t.equal(directory.readAhead(), 'blind')
    directory.scan()
    t.equal(reader.read(1024 * 1024, directory.tip).entries.length, 1)
    journal.grow(1)
    t.equal(reader.read(1024 * 1024, readAhead()).entries.length, 1)
    t.equal(directory.readAhead(), 'nothing')
  },
)

t.test('active segment - cut short while it is held is noticed', { skip }, async t => {
  const { journal, observer, path } = await holding(t)
  truncateSync(path, 40)
  await until(() => observer.anomalies.segment_shrunk === 1)
  t.equal(observer.head.seq, 0)
  await observer.close()
  t.same(held(journal.eventsDir, journal), [])
})

t.test(
  'active segment - deleted with its directory is let go, and the next one followed',
  { skip },
  async t => {
    const { journal, observer } = await holding(t)
    rmSync(journal.eventsDir, { recursive: true })
    await until(() => observer.status.kind === 'no_store')
    t.same(held(journal.eventsDir, journal), [])
    const again = journalIn(t, journal.eventsDir, OTHER)
    again.grow(4)
    await until(() => observer.head.seq === 5)
    t.equal(observer.projectId, OTHER)
  },
)

t.test('active segment - in a directory that was renamed is let go', { skip }, async t => {
  const { journal, observer } = await holding(t)
  renameSync(journal.eventsDir, `${journal.eventsDir}-old`)
  mkdirSync(journal.eventsDir)
  writeFileSync(join(journal.eventsDir, 'other'), '')
  await until(() => observer.head.seq === 0)
  t.same(held(`${journal.eventsDir}-old`, journal), [])
  // Whoever holds the old one still writes there.
  journal.grow(1)
  await sleep(60)
  t.equal(observer.head.seq, 0)
})

t.test('active segment - of twenty observers is held by one', { skip }, async t => {
  const journal = journalIn(t)
  const { eventsDir } = journal
  const observers = await Promise.all(
    Array.from({ length: 20 }, () => openObserver({ eventsDir, cursors: memoryCursors() })),
  )
  await lookedAt()
  for (let i = 0; i < 10; i++) {
    journal.grow(3)
    await Promise.all(observers.map(observer => observer.waitFor(journal.seq)))
  }
  t.same(held(eventsDir, journal), [segmentName(1)])
  // When the holder goes, another one holds it.
  for (const observer of observers.splice(0, 19)) {
    await observer.close()
    journal.grow(1)
    await Promise.all(observers.map(each => each.waitFor(journal.seq)))
    t.same(held(eventsDir, journal), [segmentName(1)])
  }
  await Promise.all(observers.map(observer => observer.close()))
  t.same(held(eventsDir, journal), [])
})

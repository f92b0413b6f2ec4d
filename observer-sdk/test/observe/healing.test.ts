// What could not be read for a while, or came late.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { segmentName } from '@kim/manifest'
import { memoryCursors, type Observer } from '@kim/observer-sdk'
import { openObserverWith } from '@kim/observer-sdk/internal'
import t, { type Test } from 'tap'
import { GrowingJournal } from './growing-journal.js'

const BRISK = { pace: { slowMs: 25, fastMs: 25 } }

/** Three segments, of which the middle one holds records 3 and 4, seal included. */
function journalIn(
  t: Test,
  home: string = t.testdir({}),
): { readonly journal: GrowingJournal; readonly middle: string } {
  const journal = new GrowingJournal(join(home, 'events'))
  t.teardown(() => journal.close())
  journal.grow()
  journal.roll()
  const middle = join(journal.eventsDir, segmentName(journal.segment))
  journal.grow(2)
  journal.roll()
  journal.grow()
  return { journal, middle }
}

async function observe(t: Test, { eventsDir }: GrowingJournal): Promise<Observer> {
  const observer = await openObserverWith({ eventsDir, cursors: memoryCursors() }, BRISK)
  t.teardown(() => observer.close())
  return observer
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(resolve => setTimeout(resolve, 5))
}

/** That an observer has come to be as one that opens now. */
async function isAsFresh(t: Test, observer: Observer, journal: GrowingJournal): Promise<void> {
  const fresh = await observe(t, journal)
  await until(() => observer.state.size === fresh.state.size)
  t.equal(observer.digest(), fresh.digest())
  t.same(observer.status, { kind: 'live', reasons: [] })
}

t.test('healing - OB-73 a segment that was missing when the journal was opened', async t => {
  const { journal, middle } = journalIn(t)
  renameSync(middle, `${middle}.elsewhere`)
  const observer = await observe(t, journal)
  t.equal(observer.state.size, 2)
  renameSync(`${middle}.elsewhere`, middle)
  await isAsFresh(t, observer, journal)
  t.equal(observer.state.size, 4)
  t.notOk(observer.anomalies.segment_replaced)
})

t.test('healing - OB-73 F6 a segment in whose place something else stood', async t => {
  for (const plant of [
    (path: string) => void mkdirSync(path),
    (path: string) => void spawnSync('mkfifo', [path]),
  ]) {
    const { journal, middle } = journalIn(t)
    renameSync(middle, `${middle}.elsewhere`)
    plant(middle)
    const observer = await observe(t, journal)
    t.same(observer.status, { kind: 'degraded', reasons: ['unreadable'] })
    rmSync(middle, { recursive: true })
    renameSync(`${middle}.elsewhere`, middle)
    await isAsFresh(t, observer, journal)
  }
})

t.test('healing - OB-73 F6 something that comes to stand under the name of the next segment', async t => {
  const journal = new GrowingJournal(join(t.testdir({}), 'events'))
  t.teardown(() => journal.close())
  journal.grow(2)
  const observer = await observe(t, journal)
  const path = join(journal.eventsDir, segmentName(journal.seq + 1))
  mkdirSync(path)
  await until(() => observer.status.kind === 'degraded')
  t.same(observer.anomalies, { unreadable: 1 })
  rmSync(path, { recursive: true })
  journal.roll()
  journal.grow()
  await isAsFresh(t, observer, journal)
  t.same(observer.anomalies, { unreadable: 1 }, 'what was counted stays counted')
})

t.test('healing - OB-73 a segment that comes before the newest while the journal is followed', async t => {
  const { journal, middle } = journalIn(t)
  const observer = await observe(t, journal)
  renameSync(middle, `${middle}.elsewhere`)
  journal.grow()
  await until(() => observer.state.size === 5)
  renameSync(`${middle}.elsewhere`, middle)
  journal.grow()
  await until(() => observer.state.size === 6)
  await isAsFresh(t, observer, journal)
  t.same(observer.anomalies, {}, 'what was read already and comes back is no news')
})

t.test(
  'healing - OB-73 F7 a segment whose permission is given back',
  { skip: process.getuid?.() === 0 ? false : 'to be somebody else for a while takes root' },
  async t => {
    // Somebody else has to come by it, so it is where everybody does.
    const home = mkdtempSync(join(tmpdir(), 'kim-healing-'))
    t.teardown(() => rmSync(home, { recursive: true }))
    chmodSync(home, 0o755)
    const { journal, middle } = journalIn(t, home)
    const newest = join(journal.eventsDir, segmentName(journal.segment))
    spawnSync('chmod', ['-R', 'a+rX', journal.eventsDir])
    // Root may read everything, so meanwhile this process is nobody.
    const asNobody = (): void => process.seteuid?.('nobody')
    const asRoot = (): void => process.seteuid?.(0)
    try {
      for (const path of [middle, newest]) {
        chmodSync(path, 0)
        asNobody()
        const observer = await observe(t, journal)
        t.same(observer.status, { kind: 'degraded', reasons: ['unreadable'] })
        asRoot()
        chmodSync(path, 0o644)
        asNobody()
        await isAsFresh(t, observer, journal)
        asRoot()
      }
    } finally {
      asRoot()
    }
  },
)

t.test('healing - a segment that stays unreadable is tried again, and nothing is derived for it', async t => {
  const { journal, middle } = journalIn(t)
  renameSync(middle, `${middle}.elsewhere`)
  mkdirSync(middle)
  const observer = await observe(t, journal)
  let derived = 0
  observer.onInvalidate(() => {
    derived += 1
  })
  await new Promise(resolve => setTimeout(resolve, 300))
  t.equal(derived, 0)
  t.same(observer.status, { kind: 'degraded', reasons: ['unreadable'] })
})

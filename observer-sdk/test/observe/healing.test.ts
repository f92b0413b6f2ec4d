// What could not be read for a while, or came late.
import { spawnSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { segmentName } from '@kim/manifest'
import { memoryCursors, type Observer } from '@kim/observer-sdk'
import { openObserverWith } from '@kim/observer-sdk/internal'
import t, { type Test } from 'tap'
import { until } from '../until.js'
import { type GrowingJournal, journalIn } from './growing-journal.js'

/** Of these a few thousand are more than is read at a time. */
const LONG = { payload: { schema_version: 1, content: 'x'.repeat(400), read: false } }

const BRISK = { pace: { slowMs: 25, fastMs: 25 } }

/** Three segments, of which the middle one holds records 3 and 4, seal included. */
function journalOfSegments(
  t: Test,
  home: string = t.testdir({}),
): { readonly journal: GrowingJournal; readonly middle: string } {
  const journal = journalIn(t, join(home, 'events'))
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

/** That an observer has come to be as one that opens now. */
async function isAsFresh(t: Test, observer: Observer, journal: GrowingJournal): Promise<void> {
  const fresh = await observe(t, journal)
  await until(() => observer.state.size === fresh.state.size)
  t.equal(observer.digest(), fresh.digest())
  t.same(observer.status, { kind: 'live', reasons: [] })
}

t.test('healing - OB-73 a segment that was missing when the journal was opened', async t => {
  const { journal, middle } = journalOfSegments(t)
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
    const { journal, middle } = journalOfSegments(t)
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
  const journal = journalIn(t)
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
  const { journal, middle } = journalOfSegments(t)
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
    const { journal, middle } = journalOfSegments(t, home)
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

t.test(
  'healing - OB-73 a segment that comes back into the archive, long after anything else changed',
  async t => {
    const home = t.testdir({})
    const { journal, middle } = journalOfSegments(t, home)
    const { eventsDir } = journal
    const archive = join(eventsDir, 'archive')
    mkdirSync(archive)
    renameSync(middle, join(home, 'elsewhere'))
    utimesSync(eventsDir, 1, 1)
    const pace = { ...BRISK.pace, innerMs: 25 }
    const observer = await openObserverWith({ eventsDir, cursors: memoryCursors() }, { pace })
    t.teardown(() => observer.close())
    t.equal(observer.state.size, 2)
    renameSync(join(home, 'elsewhere'), join(archive, basename(middle)))
    await isAsFresh(t, observer, journal)
  },
)

t.test('healing - a segment that stays unreadable is tried again, and nothing is derived for it', async t => {
  const { journal, middle } = journalOfSegments(t)
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

t.test(
  'healing - OB-73 a cursor in a newest segment that cannot be read is no rewind, and nothing comes twice',
  async t => {
    const { journal } = journalOfSegments(t)
    const cursors = memoryCursors()
    const observer = await openObserverWith({ eventsDir: journal.eventsDir, cursors, from: 'start' }, BRISK)
    t.teardown(() => observer.close())
    const seqs: number[] = []
    const gaps: unknown[] = []
    const consumed = (async () => {
      for await (const { records, gap } of observer.changes()) {
        seqs.push(...records.map(({ seq }) => seq))
        if (gap !== undefined) gaps.push(gap)
      }
    })()
    await until(() => seqs.at(-1) === journal.seq)
    const newest = join(journal.eventsDir, segmentName(journal.segment))
    const first = join(journal.eventsDir, segmentName(1))
    renameSync(newest, `${newest}.elsewhere`)
    mkdirSync(newest)
    await until(() => observer.status.kind === 'degraded')
    // The same bytes in another file: everything is derived anew, without the newest.
    copyFileSync(first, `${first}.elsewhere`)
    renameSync(`${first}.elsewhere`, first)
    await until(() => observer.head.seq < journal.seq)
    rmSync(newest, { recursive: true })
    renameSync(`${newest}.elsewhere`, newest)
    journal.grow()
    await until(() => seqs.at(-1) === journal.seq)
    await isAsFresh(t, observer, journal)
    await observer.close()
    await consumed
    t.same(
      seqs,
      Array.from({ length: journal.seq }, (_, at) => at + 1),
    )
    t.same(gaps, [])
  },
)

t.test(
  'hand-over - OB-55 no record is handed over before the state has it, whatever is derived meanwhile',
  async t => {
    const journal = journalIn(t)
    journal.grow(4000, LONG)
    const observer = await openObserverWith(
      { eventsDir: journal.eventsDir, cursors: memoryCursors(), from: 'start' },
      BRISK,
    )
    t.teardown(() => observer.close())
    const first = join(journal.eventsDir, segmentName(1))
    const seqs: number[] = []
    let behind = 0
    const total = 16_001
    for await (const { records } of observer.changes()) {
      seqs.push(...records.map(({ seq }) => seq))
      const last = seqs.at(-1) ?? 0
      const newest = records.findLast(record => record.item_type === 'message')
      const isKnown =
        newest === undefined || observer.state.get('message', newest.item_id ?? '') !== undefined
      if (observer.head.seq < last || !isKnown) behind += 1
      if (last >= total) break
      if (journal.seq >= total) continue
      // A burst beyond one batch, and at times a reason to derive anew in the middle of it.
      journal.grow(Math.min(4000, total - journal.seq), LONG)
      if (journal.segment !== 1) continue
      journal.roll()
      copyFileSync(first, `${first}.elsewhere`)
      renameSync(`${first}.elsewhere`, first)
    }
    t.equal(behind, 0)
    t.same(
      seqs,
      Array.from({ length: seqs.length }, (_, at) => at + 1),
    )
  },
)

// Where a consumer goes on: after a break, behind a segment that was away, and beside one that is missing.
import fs, { mkdirSync, renameSync, rmdirSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { basename, join } from 'node:path'
import { runAtOnce, segmentName } from '@kim/manifest'
import { type Change, type CursorStore, memoryCursors, openTail, type RecordTail } from '@kim/observer-sdk'
import { openObserverWith } from '@kim/observer-sdk/internal'
import t from 'tap'
import { RecordSource } from '../../dist/tail/record-source.js'
import { journalIn, PROJECT } from './growing-journal.js'

type Follower = Pick<RecordTail, 'changes' | 'close'>

const ways: Readonly<Record<string, (eventsDir: string, cursors?: CursorStore) => Promise<Follower>>> = {
  observer: (eventsDir, cursors = memoryCursors()) =>
    openObserverWith({ eventsDir, cursors, from: 'start' }, { pace: { slowMs: 25, fastMs: 25 } }),
  tail: (eventsDir, cursors = memoryCursors()) => openTail({ eventsDir, cursors, from: 'start' }),
}

/** Takes changes until one brings this seq; the last is taken only if it is asked beyond. */
async function takeTo(follower: Follower, seq: number): Promise<{ seqs: number[]; gaps: Change['gap'][] }> {
  const seqs: number[] = []
  const gaps: Change['gap'][] = []
  for await (const { records, gap } of follower.changes()) {
    seqs.push(...records.map(record => record.seq))
    if (gap !== undefined) gaps.push(gap)
    if ((seqs.at(-1) ?? 0) >= seq) break
  }
  return { seqs, gaps }
}

const upTo = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, n) => from + n)

for (const [way, open] of Object.entries(ways)) {
  t.test(`${way} - OB-54 that was left, long after it was opened, goes on behind what was taken`, async t => {
    const journal = journalIn(t)
    const follower = await open(journal.eventsDir)
    t.teardown(() => follower.close())
    const writers = ['w_1-abc', 'w_2-def']
    for (const writer of writers) {
      journal.writer = writer
      journal.grow(5)
      const { gaps } = await takeTo(follower, journal.seq)
      t.same(gaps, [])
    }
    const last = journal.seq
    journal.grow()
    const { seqs, gaps } = await takeTo(follower, journal.seq)
    t.same(gaps, [], 'what is above the head of the open is no rewind')
    t.ok((seqs[0] ?? 0) <= last, 'what was handed over and not taken comes again')
    t.same(seqs, upTo(seqs[0] ?? 0, journal.seq))
  })

  t.test(`${way} - OB-47 a segment that is missing in the middle is a gap, when it is opened`, async t => {
    const journal = journalIn(t)
    journal.grow(2)
    journal.roll()
    const middle = join(journal.eventsDir, segmentName(journal.segment))
    journal.grow(2)
    journal.roll()
    journal.grow()
    renameSync(middle, `${middle}.elsewhere`)
    const follower = await open(journal.eventsDir)
    t.teardown(() => follower.close())
    const { seqs, gaps } = await takeTo(follower, journal.seq)
    t.same(seqs, [...upTo(1, 3), ...upTo(7, journal.seq)])
    t.same(gaps, [{ from: 4, to: 6, reason: 'missing' }])
  })

  t.test(
    `${way} - OB-73 that comes back while the newest segment is away is handed all of it later`,
    async t => {
      const journal = journalIn(t)
      journal.grow(2)
      const before = journal.seq
      journal.roll()
      const newest = join(journal.eventsDir, segmentName(journal.segment))
      journal.grow(3)
      const cursors = memoryCursors()
      await cursors.save(PROJECT, { seq: before, checkpoint_seq: 0, writer: journal.writer })
      const follower = await open(journal.eventsDir, cursors)
      t.teardown(() => follower.close())
      // Handed over and not taken: all of it is to come again.
      await takeTo(follower, journal.seq)
      renameSync(newest, `${newest}.elsewhere`)
      const taken = takeTo(follower, journal.seq + 1)
      await new Promise(resolve => setTimeout(resolve, 100))
      renameSync(`${newest}.elsewhere`, newest)
      journal.grow()
      const { seqs, gaps } = await taken
      t.same(gaps, [])
      t.same(seqs, upTo(before + 1, journal.seq))
    },
  )
}

t.test('place - OB-6 a reader opens no segment below the one that holds its place', async t => {
  const journal = journalIn(t)
  for (let n = 0; n < 6; n++) {
    journal.grow(2)
    journal.roll()
  }
  const below = journal.segment
  journal.grow(2)
  const place = journal.seq
  journal.roll()
  journal.grow(2)
  const opened = new Set<string>()
  const { openSync } = fs
  t.teardown(() => {
    Object.assign(fs, { openSync })
    syncBuiltinESMExports()
  })
  Object.assign(fs, {
    openSync: (path: string, ...rest: [number]) => {
      if (/seg-\d+/.test(path)) opened.add(basename(path))
      return openSync(path, ...rest)
    },
  })
  syncBuiltinESMExports()
  const tail = await openTail({
    eventsDir: journal.eventsDir,
    cursors: memoryCursors(),
    from: { seq: place },
  })
  const { seqs } = await takeTo(tail, journal.seq)
  t.same(seqs, upTo(place + 1, journal.seq))
  // The first one names the project.
  t.same([...opened].sort(), [1, below, journal.segment].map(segmentName))
  await tail.close()
})

t.test('observer - behind a newest segment that was away is handed the rest when it is back', async t => {
  const journal = journalIn(t)
  journal.grow()
  journal.roll()
  const { eventsDir } = journal
  const pace = { slowMs: 25, fastMs: 25 }
  const observer = await openObserverWith({ eventsDir, cursors: memoryCursors(), from: 'start' }, { pace })
  t.teardown(() => observer.close())
  const changes = observer.changes()
  const seqs: number[] = []
  const take = async (): Promise<void> => {
    const { value } = await changes.next()
    seqs.push(...(value?.records ?? []).map(({ seq }) => seq))
  }
  while ((seqs.at(-1) ?? 0) < journal.seq) await take()
  const newest = join(journal.eventsDir, segmentName(journal.segment))
  // Read by the state one by one, so that what it read last is not where the consumer goes on.
  for (let n = 0; n < 3; n++) {
    journal.grow()
    await observer.waitFor(journal.seq)
  }
  renameSync(newest, `${newest}.elsewhere`)
  const taken = take()
  await new Promise(resolve => setTimeout(resolve, 200))
  renameSync(`${newest}.elsewhere`, newest)
  await taken
  while ((seqs.at(-1) ?? 0) < journal.seq) await take()
  t.same(seqs, upTo(1, journal.seq))
})

t.test(
  'place - OB-73 looked for while the newest segment is away is not behind it once it is back',
  async t => {
    for (const instead of ['nothing', 'a directory'] as const) {
      const journal = journalIn(t)
      journal.grow(2)
      const before = journal.seq
      journal.roll()
      const newest = join(journal.eventsDir, segmentName(journal.segment))
      journal.grow(3)
      const source = new RecordSource(journal.eventsDir)
      const ground = runAtOnce(source.ground())
      renameSync(newest, `${newest}.elsewhere`)
      if (instead === 'a directory') mkdirSync(newest)
      source.look()
      const looking = source.locate({ seq: before, writer: journal.writer }, ground)
      // Back before the look for the place has ended.
      looking.next()
      if (instead === 'a directory') rmdirSync(newest)
      renameSync(`${newest}.elsewhere`, newest)
      const { position, above } = runAtOnce(looking)
      t.same(position, { segment: journal.segment, offset: 0, peak: 0 }, instead)
      t.equal(above, before)
    }
  },
)

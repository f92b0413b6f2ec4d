import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { segmentName } from '@kim/manifest'
import {
  type Change,
  type CursorStore,
  memoryCursors,
  openObserver,
  openTail,
  type RecordTail,
} from '@kim/observer-sdk'
import t, { type Test } from 'tap'
import { GrowingJournal, journalIn, PROJECT } from './growing-journal.js'

const OTHER = 'feedfacefeedfacefeedfacefeedface'

/** A tail of a journal of its own, at its end. */
async function following(t: Test): Promise<{ journal: GrowingJournal; tail: RecordTail }> {
  const journal = journalIn(t)
  const tail = await openTail({ eventsDir: journal.eventsDir, cursors: memoryCursors() })
  t.teardown(() => tail.close())
  return { journal, tail }
}

/** What a tail hands over, until enough of it came. */
async function take(
  changes: AsyncGenerator<Change>,
  enough: (seqs: readonly number[]) => boolean,
): Promise<{ seqs: number[]; gaps: unknown[] }> {
  const seqs: number[] = []
  const gaps: unknown[] = []
  while (!enough(seqs)) {
    const { value, done } = await changes.next()
    if (done === true) break
    seqs.push(...value.records.map(({ seq }) => seq))
    if (value.gap !== undefined) gaps.push(value.gap)
  }
  return { seqs, gaps }
}

t.test('tail - OB-43 hands over what comes after the open, and goes on from its cursor', async t => {
  const eventsDir = join(t.testdir(), 'events')
  const journal = journalIn(t, eventsDir)
  journal.append(journal.line() + journal.line())
  const cursors = memoryCursors()
  const tail = await openTail({ eventsDir, cursors })
  t.equal(tail.head.seq, 3)
  const changes = tail.changes()
  const first = take(changes, seqs => seqs.length === 2)
  journal.append(journal.line())
  journal.append(journal.line())
  t.same((await first).seqs, [4, 5])
  journal.roll()
  const next = journal.seq + 1
  const rolled = take(changes, seqs => seqs.includes(next))
  journal.append(journal.line())
  t.equal((await rolled).seqs.at(-1), journal.seq)
  await changes.return(undefined)
  await tail.close()
  journal.append(journal.line())
  const again = await openTail({ eventsDir, cursors })
  const rest = await take(again.changes(), seqs => seqs.includes(journal.seq))
  t.same(rest.seqs.slice(-2), [journal.seq - 1, journal.seq], 'what was not asked beyond comes again')
  await again.close()
})

t.test(
  'tail - OB-25 a store that is created again is handed over from its first record, after a gap',
  async t => {
    const eventsDir = join(t.testdir(), 'events')
    const before = new GrowingJournal(eventsDir)
    before.append(before.line() + before.line())
    const tail = await openTail({ eventsDir, cursors: memoryCursors() })
    const changes = tail.changes()
    const told = take(changes, seqs => seqs.length >= 2)
    before.close()
    rmSync(eventsDir, { recursive: true })
    const after = journalIn(t, eventsDir, OTHER)
    after.append(after.line())
    const { seqs, gaps } = await told
    t.same(seqs, [1, 2])
    t.match(gaps, [{ reason: 'rewound' }])
    t.equal(tail.projectId, OTHER)
    await tail.close()
  },
)

t.test('tail - OB-25 a store that is created again has its gap also if it is looked at twice', async t => {
  for (const open of [openTail, openObserver]) {
    const eventsDir = join(t.testdir(), 'events')
    const before = new GrowingJournal(eventsDir)
    before.append(before.line() + before.line())
    const other = new GrowingJournal(join(t.testdirName, 'other'), OTHER)
    const second = other.line()
    other.close()
    const first = readFileSync(join(other.eventsDir, segmentName(1)), 'utf8')
    const segment = join(eventsDir, segmentName(1))
    const cursors = memoryCursors()
    let asked = 0
    const load: CursorStore['load'] = id => {
      // The journal states its id while the cursor is looked up.
      if (++asked === 2) appendFileSync(segment, first.slice(40) + second)
      return cursors.load(id)
    }
    const save: CursorStore['save'] = (id, cursor) => cursors.save(id, cursor)
    const tail = await open({ eventsDir, cursors: { load, save } })
    const told = take(tail.changes(), seqs => seqs.length >= 2)
    before.close()
    rmSync(eventsDir, { recursive: true })
    while (tail.status.kind !== 'no_store') await turn()
    mkdirSync(eventsDir)
    writeFileSync(segment, first.slice(0, 40))
    const { seqs, gaps } = await told
    t.same(seqs, [1, 2])
    t.match(gaps, [{ reason: 'rewound' }])
    await tail.close()
  }
})

t.test(
  'tail - OB-42 a journal seen before its first line is whole gets the id that it then states',
  async t => {
    const eventsDir = join(t.testdir(), 'events')
    const origin = new GrowingJournal(join(t.testdirName, 'origin'))
    const journal = origin.line()
    origin.close()
    const genesis = readFileSync(join(origin.eventsDir, segmentName(1)), 'utf8')
    mkdirSync(eventsDir)
    const segment = join(eventsDir, segmentName(1))
    for (const open of [openTail, openObserver]) {
      writeFileSync(segment, genesis.slice(0, 40))
      const cursors = memoryCursors()
      const tail = await open({ eventsDir, cursors, from: 'start' })
      t.not(tail.projectId, PROJECT)
      const told = take(tail.changes(), seqs => seqs.length >= 2)
      appendFileSync(segment, genesis.slice(40) + journal)
      const { seqs, gaps } = await told
      t.same({ seqs, gaps }, { seqs: [1, 2], gaps: [] })
      t.equal(tail.projectId, PROJECT)
      await tail.close()
      t.match(cursors.load(PROJECT), { seq: 0 }, 'its cursor is kept under that id')
    }
  },
)

t.test('tail - a journal need not be there yet, and a closed tail ends what waits', async t => {
  const eventsDir = join(t.testdir(), 'events')
  const tail = await openTail({ eventsDir, cursors: memoryCursors() })
  t.equal(tail.head.seq, 0)
  const told = take(tail.changes(), seqs => seqs.length >= 2)
  const journal = journalIn(t, eventsDir)
  journal.append(journal.line())
  t.same((await told).seqs, [1, 2])
  await tail.close()
  await tail.close()
  const other = await openTail({ eventsDir, cursors: memoryCursors() })
  const waiting = other.changes().next()
  await other.close()
  t.equal((await waiting).done, true)
})

t.test('tail - the lists of a change are shared, so no consumer can change them', async t => {
  const { journal, tail } = await following(t)
  const changes = tail.changes()
  // A note makes nothing stale: its lists are those of every such change.
  for (const line of [journal.note('producer_stopped', {}), journal.line()]) {
    const next = changes.next()
    journal.append(line)
    const { itemTypes, sections, personas, lines } = (await next).value as Change
    for (const list of [itemTypes, sections, personas, lines]) t.ok(Object.isFrozen(list))
  }
})

t.test('tail - OB-58 an error thrown into a pull that waits ends the iteration', async t => {
  const { tail } = await following(t)
  const pulls = tail.changes()
  const waiting = pulls.next()
  await t.rejects(pulls.throw(new Error('enough')), { message: 'enough' })
  t.same(await waiting, { done: true, value: undefined })
})

t.test('tail - OB-47 what was given up at the end of a segment is not missing', async t => {
  const { journal, tail } = await following(t)
  const changes = tail.changes()
  const told = take(changes, seqs => seqs.includes(2))
  journal.grow(1)
  t.same(await told, { seqs: [2], gaps: [] })
  const rolled = take(changes, seqs => seqs.includes(6))
  journal.transaction(3, 2)
  await turn()
  journal.roll()
  journal.grow(1)
  t.same(await rolled, { seqs: [5, 6], gaps: [] })
  const after = take(changes, seqs => seqs.includes(11))
  journal.transaction(3, 2)
  journal.seq += 1
  journal.roll()
  journal.grow(1)
  t.same(await after, { seqs: [10, 11], gaps: [{ from: 9, to: 9, reason: 'missing' }] })
})

t.test(
  'tail - OB-11 newest lines that only look right are no head, and what comes is handed over',
  async t => {
    const journal = journalIn(t)
    journal.grow(2)
    for (let lines = 0; lines < 3; lines++)
      journal.append(journal.line().replace('"read":false', '"read":fals'))
    const tail = await openTail({ eventsDir: journal.eventsDir, cursors: memoryCursors() })
    t.teardown(() => tail.close())
    t.same(tail.head, { seq: 3, writer: journal.writer })
    const told = take(tail.changes(), seqs => seqs.includes(7))
    journal.grow(1)
    t.same(await told, { seqs: [7], gaps: [] })
  },
)

import { copyFileSync, readFileSync, renameSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runAtOnce, segmentName } from '@kim/manifest'
import t, { type Test } from 'tap'
import type { Batch, JournalReader } from '../../dist/tail/journal-reader.js'
import { RecordSource } from '../../dist/tail/record-source.js'
import { type GrowingJournal, journalIn } from './growing-journal.js'

const BYTES = 1024 * 1024
const START = { segment: 1, offset: 0, peak: 0 }

/** A reader of an observer of its own, which has just looked. */
function readerOf(eventsDir: string): { readonly source: RecordSource; readonly reader: JournalReader } {
  const source = new RecordSource(eventsDir)
  source.look()
  return { source, reader: source.reader(START) }
}

function journalOf(t: Test, records: number): GrowingJournal {
  const journal = journalIn(t)
  journal.grow(records)
  return journal
}

const seqs = ({ entries }: Batch): number[] => entries.map(({ record }) => record.seq)

t.test('shared batches - what one observer read, another takes', async t => {
  const journal = journalOf(t, 3)
  const first = readerOf(journal.eventsDir)
  const second = readerOf(journal.eventsDir)
  const batch = first.reader.read(BYTES)
  t.equal(second.reader.read(BYTES), batch)
  t.same(second.reader.position, first.reader.position)
  journal.grow(2)
  t.same(seqs(second.reader.read(BYTES)), [5, 6])
  t.same(seqs(first.reader.read(BYTES)), [5, 6])
})

/** What two readers are given, each batch once for both, where so much is asked for at a time. */
function readByTwo(t: Test, { eventsDir }: GrowingJournal, bytes: number): Batch[] {
  const first = readerOf(eventsDir)
  const second = readerOf(eventsDir)
  const batches: Batch[] = []
  do {
    batches.push(first.reader.read(bytes))
    t.equal(second.reader.read(bytes), batches.at(-1))
  } while (batches.at(-1)?.more === true)
  return batches
}

const upTo = (last: number): number[] => Array.from({ length: last }, (_, i) => i + 1)

t.test('shared batches - a transaction longer than what was asked for is read to its end, once', async t => {
  const journal = journalOf(t, 3)
  journal.transaction(200)
  journal.grow(50)
  t.same(readByTwo(t, journal, 10_000).flatMap(seqs), upTo(254))
})

t.test('shared batches - transactions that no read ends with are read once each', async t => {
  const journal = journalOf(t, 3)
  for (let i = 0; i < 50; i++) journal.transaction(7)
  const batches = readByTwo(t, journal, 10_000)
  t.ok(
    batches.every(({ entries }) => entries.length < 100),
    'and no more of them at a time than was asked for',
  )
  t.same(batches.flatMap(seqs), upTo(354))
})

t.test('shared batches - what came since is asked for, in this segment and the next', async t => {
  const journal = journalOf(t, 3)
  const first = readerOf(journal.eventsDir)
  t.equal(first.reader.read(BYTES).more, false)
  journal.grow(1)
  const second = readerOf(journal.eventsDir)
  const shared = second.reader.read(BYTES)
  t.same([seqs(shared), shared.more], [[1, 2, 3, 4], true])
  t.same(seqs(second.reader.read(BYTES)), [5])
  journal.roll()
  const third = readerOf(journal.eventsDir)
  t.same([seqs(third.reader.read(BYTES)).length, third.reader.read(BYTES).entries.length > 0], [4, true])
  const fourth = readerOf(journal.eventsDir)
  let last = 0
  for (let more = true; more; ) {
    const batch = fourth.reader.read(BYTES)
    more = batch.more
    last = seqs(batch).at(-1) ?? last
  }
  t.equal(last, 6, 'the roll is not waited for')
})

t.test('shared batches - of a file that is another one now, nothing is taken', async t => {
  const journal = journalOf(t, 3)
  const first = readerOf(journal.eventsDir)
  t.same(seqs(first.reader.read(BYTES)), [1, 2, 3, 4])
  const path = join(journal.eventsDir, segmentName(1))
  copyFileSync(path, `${path}.new`)
  const text = readFileSync(path, 'utf8').replace('record 3', 'RECORD 3')
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
  const second = readerOf(journal.eventsDir)
  const read = second.reader.read(BYTES)
  t.equal(read.entries[2]?.record.summary, 'RECORD 3')
})

t.test('shared batches - of a segment that was cut short, none is used after a new derivation', async t => {
  const journal = journalOf(t, 3)
  const path = join(journal.eventsDir, segmentName(1))
  const before = readFileSync(path)
  const source = new RecordSource(journal.eventsDir)
  const reader = source.reader(runAtOnce(source.derive()).end)
  journal.grow(1)
  const batch = reader.read(BYTES)
  t.same(seqs(batch), [5])
  truncateSync(path, before.length)
  t.equal(reader.read(BYTES).lost, 'segment_shrunk')
  const { end } = runAtOnce(source.derive())
  t.same(end, batch.from, 'where that batch began')
  journal.seq -= 1
  journal.grow(1, { summary: 'another 5' })
  t.equal(source.reader(end).read(BYTES).entries[0]?.record.summary, 'another 5')
})

t.test('shared batches - have the stored lines in them', async t => {
  const journal = journalOf(t, 2)
  const stored = readFileSync(join(journal.eventsDir, segmentName(1)), 'utf8')
  readerOf(journal.eventsDir).reader.read(BYTES)
  const { entries } = readerOf(journal.eventsDir).reader.read(BYTES)
  t.equal(entries.map(({ line }) => `${Buffer.from(line)}\n`).join(''), stored)
})

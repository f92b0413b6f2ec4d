// Whether a place in a segment is one of its compressed copy too, before that is read on from there.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { segmentName } from '@kim/manifest'
import t, { type Test } from 'tap'
import { JournalDirectory } from '../../dist/tail/directory.js'
import { type Batch, JournalReader } from '../../dist/tail/journal-reader.js'
import { type GrowingJournal, journalIn } from './growing-journal.js'

/** What is read on after everything was read, `grow` grew the segment by two and it was parked with other text. */
function readOn(
  t: Test,
  grow: (journal: GrowingJournal) => void,
  alter: (text: string) => string = text => text,
): Batch {
  const journal = journalIn(t)
  const path = join(journal.eventsDir, segmentName(1))
  const directory = new JournalDirectory(journal.eventsDir)
  const reader = new JournalReader(directory, { segment: 1, offset: 0, peak: 0 })
  grow(journal)
  directory.scan()
  reader.read(1024 * 1024)
  journal.grow(2)
  journal.roll()
  journal.archive(1, Buffer.from(alter(readFileSync(path, 'utf8'))))
  directory.scan()
  return reader.read(1024 * 1024)
}

function repeat(journal: GrowingJournal): void {
  const line = journal.line()
  journal.append(line)
  journal.grow(1)
  journal.append(line)
}

t.test('place - OB-17 a line may stand before it whose seq is not the highest', async t => {
  const { lost, entries } = readOn(t, repeat)
  t.equal(lost, undefined)
  t.same(
    entries.map(({ record }) => record.seq),
    [4, 5, 6],
  )
})

t.test('place - OB-18 other records before it are another segment', async t => {
  const later = readOn(
    t,
    journal => journal.grow(3),
    text => text.replace('"seq":4,', '"seq":9,'),
  )
  t.equal(later.lost, 'segment_replaced')
  const earlier = readOn(
    t,
    journal => journal.grow(3),
    text => text.replace('"seq":4,', '"seq":1,'),
  )
  t.equal(earlier.lost, 'segment_replaced')
})

import { join } from 'node:path'
import { SegmentReader } from '@kim/manifest'
import { openJournalCopy, RangeCheck, verifyJournal } from '@kim/observer-sdk/verify'
import t from 'tap'
import { JournalMaker } from './verify/journal-maker.js'

t.test('copy - a checkpoint counts if a record vouches for it', async t => {
  const maker = new JournalMaker()
  maker.add()
  maker.roll()
  maker.checkpoint()
  maker.add()
  const copy = openJournalCopy(maker.write(t.testdir()))
  const [entry] = copy.checkpoints
  if (entry === undefined) throw new TypeError('a checkpoint')
  t.match(await copy.checkpoint(entry), { header: { head_seq: entry.headSeq } })
  t.equal(await copy.checkpoint({ ...entry, headSeq: entry.headSeq + 1000 }), undefined)
  t.match(copy, { exists: true, isForeign: false, isEndHidden: false, first: { number: 1 } })
})

t.test('copy - of an absent directory it is empty', async t => {
  const copy = openJournalCopy(join(t.testdir(), 'absent'))
  t.same([...copy.forwards(), ...copy.backwards(), ...copy.checkpoints, ...copy.failures], [])
  t.match(copy, { exists: false, segments: [], first: undefined, isEndHidden: false })
  t.equal(await copy.walk({ beginSegment: () => new SegmentReader({}) }), false)
})

t.test('copy - a walk begins at any line, and ends if the walker says so', async t => {
  const maker = new JournalMaker()
  for (let n = 0; n < 4; n++) maker.add()
  maker.roll()
  maker.add()
  const copy = openJournalCopy(maker.write(t.testdir()))
  const places: { seq: number; segment: number; offset: number }[] = []
  for (const { record, segment, offset } of copy.forwards()) places.push({ seq: record.seq, segment, offset })
  const seen: number[] = []
  const walker = (last: number): Parameters<typeof copy.walk>[0] => ({
    beginSegment: (_, offset) =>
      new SegmentReader({ released: ({ record }) => void seen.push(record.seq) }, { offset }),
    lineEnd: () => seen.at(-1) !== last,
  })
  t.equal(await copy.walk(walker(0), {}, places[2]), false)
  t.same(
    seen.splice(0),
    places.slice(2).map(({ seq }) => seq),
  )
  t.equal(await copy.walk(walker(3)), true)
  t.same(seen, [1, 2, 3])
})

for (const native of [true, false]) {
  t.test(`range check - finds what verify finds, ${native ? 'ours' : 'foreign'}`, async t => {
    const maker = new JournalMaker({ native })
    maker.add()
    maker.add({ seq: maker.next - 1, item_id: 'river/twice' })
    maker.next += 1
    maker.add()
    maker.line('no record\n')
    maker.add()
    const eventsDir = maker.write(t.testdir())
    const history = openJournalCopy(eventsDir)
    const check = new RangeCheck(0)
    await history.walk({
      beginSegment: ({ name }) =>
        new SegmentReader({
          released: line => check.record(name, line),
          repeated: line => check.record(name, line),
          dropped: lines => check.dropped(name, lines),
          malformed: line => check.malformed(name, line),
          future: (seq, line) => check.future(name, seq, line),
        }),
    })
    t.equal(check.places, 2)
    const { exit, findings, holes } = check.close(() => history.isForeign)
    const verdict = await verifyJournal({ eventsDir })
    t.equal(exit, verdict.exit)
    t.equal(holes.length, 1)
    for (const [kind, { count, weight }] of Object.entries(findings))
      t.match(verdict.findings[kind as keyof typeof findings], { count, weight }, kind)
    t.same(Object.keys(findings).sort(), ['duplicate_seq', 'malformed_line', 'seq_hole'])
  })
}

/** What answers say of damage weighs what it weighs for verify, whoever wrote the journal. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { verifyJournal } from '@kim/observer-sdk/verify'
import t from 'tap'
import { JournalMaker } from '../../observer-sdk/dist-test/verify/journal-maker.js'
import { explain, findTurns, openCopy, parsePredicate, stateAt } from '../dist/internal.js'

/** A number twice, one that lacks, and a line that is no record. */
function journal(dir: string, native: boolean): string {
  const maker = new JournalMaker({ native })
  maker.add()
  maker.add({ seq: maker.next - 1, item_id: 'river/twice' })
  maker.next += 1
  maker.add()
  maker.line('no record\n')
  maker.add()
  return maker.write(dir)
}

for (const native of [true, false]) {
  t.test(`CL-50 OB-67 answers - exit as verify does, ${native ? 'ours' : 'foreign'}`, async t => {
    const eventsDir = journal(t.testdir(), native)
    const verdict = await verifyJournal({ eventsDir })
    t.equal(verdict.exit, native ? 6 : 0)
    const copy = openCopy(eventsDir)
    const { missing } = await stateAt(copy, { kind: 'end' })
    t.equal(missing.exit, verdict.exit)
    t.same(Object.keys(missing.findings).sort(), ['duplicate_seq', 'malformed_line', 'seq_hole'], 'named')
    for (const [kind, { weight }] of Object.entries(missing.findings))
      t.equal(weight, verdict.findings[kind as keyof typeof verdict.findings]?.weight, kind)
    const found = await findTurns(copy, parsePredicate('seq < 0'), true)
    t.equal(found.missing.exit, verdict.exit)
    const name = { kind: 'seq', seq: 40, text: '40' } as const
    await t.rejects(explain(copy, name), { code: native ? 'record_corrupt' : 'no_record' })
  })
}

t.test('CL-50 OB-67 answers - a journal whose first note is gone is not foreign for that', async t => {
  const maker = new JournalMaker()
  maker.add()
  maker.roll()
  maker.next += 1
  maker.add()
  const eventsDir = maker.write(t.testdir())
  rmSync(join(eventsDir, 'seg-00000001.jsonl'))
  const copy = openCopy(eventsDir)
  t.equal(copy.isForeign, false)
  t.equal((await stateAt(copy, { kind: 'end' })).missing.exit, 5)
})

import { join } from 'node:path'
import { statsJournal, statsText, verdictText, verifyJournal } from '@kim/observer-sdk/verify'
import t from 'tap'
import { JournalMaker, projectId } from './journal-maker.js'

t.test('text - what a record calls itself begins no line and moves no cursor', async t => {
  const journal = new JournalMaker()
  const forged = 'a\nclean: everything\u001b[2J\u202e'
  journal.add({ item_id: forged, item_type: forged, agent: forged, entity_rev: 7 })
  const dir = journal.write(join(t.testdir(), 'events'))
  const stats = await statsJournal({ eventsDir: dir })
  if (!stats.ok) throw new Error(stats.code)
  const verdict = await verifyJournal({ eventsDir: dir })
  t.equal(verdict.exit, 6)
  for (const text of [verdictText(verdict, dir), statsText(stats.value, dir)]) {
    t.notMatch(text, /^ *clean/m)
    t.notMatch(text, /[\u001b\u202e]/)
    t.match(text, 'a\\nclean: everything\\x1b[2J\\u202e')
  }
})

t.test('text - whose newest records are missing is not called clean', async t => {
  const journal = new JournalMaker()
  journal.add()
  const meta = { active_segment: 'seg-00000001.jsonl', entity_revs: {}, next_seq: 9, project_id: projectId }
  journal.files.set('meta.json', Buffer.from(JSON.stringify(meta)))
  const verdict = await verifyJournal({ eventsDir: journal.write(join(t.testdir(), 'events')) })
  t.equal(verdict.exit, 0)
  const text = verdictText(verdict, '/somewhere')
  t.match(text, /^no damage in what is there, but the newest records are missing: \/somewhere\n/)
  t.match(text, /\nnext: if this is no copy, restore the newest segment .*; if you cannot, start it: .*$/)
  t.match(verdictText({ ...verdict, findings: {} }, '/somewhere'), /^clean: \/somewhere\n/)
})

t.test('text - what this user may not read is not called corrupt', async t => {
  const journal = new JournalMaker()
  const verdict = await verifyJournal({ eventsDir: journal.write(join(t.testdir(), 'events')) })
  const example = (detail: string): { detail: string } => ({ detail })
  const text = (...details: string[]): string => {
    const unreadable = { count: 1, weight: 6, examples: details.map(example) } as const
    return verdictText({ ...verdict, exit: 6, findings: { unreadable } }, '/somewhere')
  }
  t.match(
    text('/somewhere: EACCES'),
    /^cannot be read: \/somewhere\n.*\nnext: run this as the user that owns/s,
  )
  t.match(text('/somewhere: EACCES', '/somewhere/a: EIO'), /^corrupt: \/somewhere\n/)
})

t.test('text - a hole that is a segment which may not be read is not called corrupt', async t => {
  const journal = new JournalMaker()
  const verdict = await verifyJournal({ eventsDir: journal.write(join(t.testdir(), 'events')) })
  const segment = 'seg-00000005.jsonl'
  const unreadable = { count: 1, weight: 6, examples: [{ segment, detail: `${segment}: EACCES` }] } as const
  const text = (...holes: string[]): string => {
    const examples = holes.map(detail => ({ seq: 9, detail }))
    const seq_hole = { count: holes.length, weight: 5, examples } as const
    return verdictText({ ...verdict, exit: 6, findings: { unreadable, seq_hole } }, '/somewhere')
  }
  t.match(text('seq 5…8 missing'), /^cannot be read: .*note {2}seq_hole.*\nnext: run this as the user/s)
  t.match(text('seq 5…8 missing', 'seq 12 missing'), /^corrupt: .*HOLE {2}seq_hole.*journal repair/s)
  const seal_missing = {
    count: 1,
    weight: 6,
    examples: [{ segment, detail: 'begins without a seal' }],
  } as const
  t.match(
    verdictText({ ...verdict, exit: 6, findings: { seal_missing } }, '/somewhere'),
    /\nnext: stop the producer, .*; without a backup the producer refuses this store if its newest .*--store DIR$/,
  )
})

t.test('text - says what was found, the heaviest first', async t => {
  const journal = new JournalMaker()
  journal.add({ entity_rev: 7 })
  journal.next += 1
  journal.add()
  journal.line('{"torn')
  const dir = journal.write(join(t.testdir(), 'events'))
  const text = verdictText(await verifyJournal({ eventsDir: dir }), '/somewhere')
  t.match(text, /^corrupt: \/somewhere\n {2}3 records in 1 segment \([\d,]+ bytes\), seq 1 to 4\n/)
  t.match(
    text,
    /ERROR revision × 1 \(.*\)\n.*HOLE {2}seq_hole × 1 \(.*\)\n.*note {2}unterminated_tail × 1 \(.*\)\n/s,
  )
  t.match(
    text,
    /\nnext: kim-producer journal repair --dry-run --store DIR$/,
    'it is not the journal of a store',
  )
  const blank = new JournalMaker()
  blank.add({ entity_rev: 7 })
  const skipped = await verifyJournal({ eventsDir: blank.write(join(t.testdir(), 'events')) })
  t.match(
    verdictText(skipped, '/a b/events'),
    /\nnext: stop the producer, restore the named files from a backup, and start it again/,
  )
  skipped.findings.seq_hole = { count: 1, weight: 5, examples: [] }
  t.match(
    verdictText(skipped, '/a b/events'),
    /\nnext: kim-producer journal repair --dry-run --store '\/a b'$/,
  )
  t.match(
    verdictText(await verifyJournal({ eventsDir: join(dir, 'none') }), 'none'),
    'no journal there: none',
  )
})

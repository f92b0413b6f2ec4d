import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkpointName, type JsonObject } from '@kim/manifest'
import { type Draft, type Journal, journalCare, loopTurn, openJournal } from '@kim/producer/internal'
import t, { type Test } from 'tap'

function journal(t: Test): Journal {
  const home = mkdtempSync(join(tmpdir(), 'kim-care-'))
  const opened = openJournal({ storeDir: join(home, 'store'), source: 'http://localhost:7474' })
  t.teardown(() => {
    opened.close()
    rmSync(home, { recursive: true, force: true })
  })
  return opened
}

const draft = (n: number): Draft => ({
  agent: 'argus',
  action: 'create',
  item_type: 'message',
  item_id: `argus/${n}`,
  summary: 'x',
  payload: { schema_version: 1, n },
})

t.test('care - a checkpoint is written and named, while appends go on (CP-6, CP-13)', async t => {
  const opened = journal(t)
  const care = journalCare(opened, loopTurn)
  opened.append(Array.from({ length: 500 }, (_, n) => draft(n)))
  const head = opened.head.seq
  const written = care.checkpoint()
  opened.append([draft(1000)])
  const { file, head_seq: covered } = await written
  t.equal(covered, head)
  t.equal(file, checkpointName(head))
  t.equal(care.headSeq(), opened.head.seq)
  t.ok(care.headSeq() > head)
})

t.test('care - gc says what it moved, and what it would move (JF-70)', async t => {
  const opened = journal(t)
  const care = journalCare(opened, loopTurn)
  const wouldMove = async (): Promise<JsonObject> => care.gc(true)
  t.same(await wouldMove(), { moved: [] })
  const moved: unknown[] = []
  for (let n = 0; n < 3; n++) {
    opened.append([draft(n)])
    moved.push((await care.checkpoint())['moved'])
  }
  t.match(moved, [[], [/^seg-/], [/^seg-/, /^ckpt-/]], 'D4: a checkpoint says what the gc after it moved')
  // Each checkpoint was followed by gc, so there is nothing left.
  t.same(await wouldMove(), { moved: [] })
  t.same(await care.gc(false), { moved: [] })
})

t.test('care - a journal that refuses everything says so (CP-14)', async t => {
  const opened = journal(t)
  const care = journalCare(opened, loopTurn)
  opened.close()
  await t.rejects(care.checkpoint(), { name: 'KimError' })
})

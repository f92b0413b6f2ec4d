/** A search that comes upon damage goes on from the next checkpoint behind it. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { JournalMaker } from '../../observer-sdk/dist-test/verify/journal-maker.js'
import { findTurns, openCopy, parsePredicate } from '../dist/internal.js'

const message = (id: number): object => ({
  item_id: `river/${id}`,
  payload: { schema_version: 1, persona: 'river', id, read: false },
})

/** Messages 1 (seq 2), 2 (5), 3 (6) and 4 (9) in segments of 1, 3 and 7; checkpoints cover seq 2 and 6. */
function journal(dir: string, { checkpoint = true } = {}): string {
  const maker = new JournalMaker()
  maker.add(message(1))
  maker.roll()
  maker.checkpoint()
  for (const id of [2, 3]) maker.add(message(id))
  maker.roll()
  if (checkpoint) maker.checkpoint()
  else maker.next += 1
  maker.add(message(4))
  return maker.write(dir)
}

const middle = 'seg-00000003.jsonl'

async function turns(eventsDir: string, text: string, all = true): Promise<unknown[]> {
  const { found } = await findTurns(openCopy(eventsDir), parsePredicate(text), all)
  return found.map(({ from, until }) =>
    [from, until].map(turn =>
      turn === null ? null : turn.after_seq === null ? turn.seq : [turn.after_seq, turn.seq],
    ),
  )
}

t.test('CL-60 find - takes the state from the checkpoint behind a segment that is gone', async t => {
  const eventsDir = journal(t.testdir())
  t.same(await turns(eventsDir, 'count.message >= 3'), [[6, null]])
  rmSync(join(eventsDir, middle))
  for (const all of [true, false]) {
    t.same(await turns(eventsDir, 'count.message >= 3', all), [[[2, 6], null]])
    const asked = parsePredicate('persona.river.unread >= 3')
    const result = await findTurns(openCopy(eventsDir), asked, all)
    t.match(result, {
      times: 1,
      last_seq: all ? 9 : 2,
      missing: { exit: 5, findings: { seq_hole: { count: 1 } } },
    })
  }
  t.same(await turns(eventsDir, 'count.message == 1'), [[2, [2, 6]]])
  t.same(await turns(eventsDir, 'count.message == 4'), [[9, null]], 'what comes later is as it was')
  t.same(await turns(eventsDir, 'seq >= 4'), [[[2, 6], null]])
})

t.test('CL-60 find - reads on behind a damaged line until a checkpoint covers it', async t => {
  const eventsDir = journal(t.testdir())
  const lines = readFileSync(join(eventsDir, middle), 'latin1').split('\n')
  t.match(lines[2], /river\/2/)
  lines[2] = 'no record'
  writeFileSync(join(eventsDir, middle), lines.join('\n'), 'latin1')
  t.same(await turns(eventsDir, 'entity.message."river/3".exists'), [[6, null]], 'before it')
  t.same(await turns(eventsDir, 'count.message >= 3'), [[[4, 6], null]])
  t.same(await turns(eventsDir, 'count.message == 4'), [[9, null]])
})

t.test('CL-60 find - without a checkpoint behind the damage answers from what can be read', async t => {
  const eventsDir = journal(t.testdir(), { checkpoint: false })
  rmSync(join(eventsDir, middle))
  t.same(await turns(eventsDir, 'count.message >= 3'), [])
  t.same(await turns(eventsDir, 'count.message == 2'), [[9, null]])
})

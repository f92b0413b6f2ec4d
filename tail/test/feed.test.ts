import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { memoryCursors, openObserver, openTail } from '@kim/observer-sdk'
import { type JournalHistory, openHistory } from '@kim/observer-sdk/history'
import t from 'tap'
import { facts, message, record } from '../../monitor/dist-test/records.js'
import { ReadCursor } from '../dist/flow/cursor.js'
import { inboxCursor } from '../dist/flow/heartbeat.js'
import type { Plan } from '../dist/plan.js'
import { beginningOf } from '../dist/position.js'
import { countUnhandled, pastEntries, SeenPersonas } from '../dist/read/past-entries.js'

const line = (seq: number): string => {
  const of = message(seq, { item_id: `river/${seq}` })
  return `${JSON.stringify({ ...of.raw, payload: { ...of.payload, id: seq } })}\n`
}

/** A journal with two messages. */
function journal(directory: string): { readonly eventsDir: string; readonly append: (seq: number) => void } {
  const eventsDir = join(directory, 'events')
  mkdirSync(eventsDir)
  const segment = join(eventsDir, 'seg-00000001.jsonl')
  writeFileSync(segment, line(1) + line(2))
  return { eventsDir, append: seq => appendFileSync(segment, line(seq)) }
}

t.test('tail - CL-38 what comes while it is opened is above its head, and is handed over once', async t => {
  const { append, eventsDir } = journal(t.testdir())
  const cursors = {
    load: () => append(3),
    save: () => {},
  }
  const tail = await openTail({ eventsDir, cursors, from: 'head' })
  t.equal(tail.head.seq, 2, 'a list of the past stops here')
  const { value } = await tail.changes().next()
  t.same(
    value?.records.map(({ seq }) => seq),
    [3],
  )
  await tail.close()
})

t.test('heartbeat - KS-28 KS-35 the cursor of an inbox moves with its messages', async t => {
  const { append, eventsDir } = journal(t.testdir())
  const put = (seq: number, item_type: string, item_id: string, payload: object): void => {
    const { raw } = record(seq, { action: 'update', item_id, item_type })
    const text = JSON.stringify({ ...raw, action: 'update', agent: 'river', item_id, item_type, payload })
    appendFileSync(join(eventsDir, 'seg-00000001.jsonl'), `${text}\n`)
  }
  const armed = { cursor: 1, floor: 1, persona: 'river', schema_version: 1, state: 'up', watched: true }
  put(3, 'persona', 'river', armed)
  const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
  t.teardown(() => observer.close())
  t.equal(inboxCursor(observer, 'river'), 2, 'of the existing records')
  t.equal(inboxCursor(observer, 'nobody'), undefined)
  const after = async (seq: number): Promise<number | undefined> => {
    await observer.waitFor(seq)
    return inboxCursor(observer, 'river')
  }
  append(4)
  t.equal(await after(4), 4, 'and of what comes')
  const pin = { cursor_at: 2, kind: 'bounded-window', persona: 'river', reason: 'r', schema_version: 1 }
  put(5, 'alert', 'river/bounded-window', { ...pin, status: 'open' })
  t.equal(await after(5), 2, 'a pin holds it')
  put(6, 'alert', 'river/bounded-window', { ...pin, status: 'cleared' })
  t.equal(await after(6), 4)
  put(7, 'persona', 'river', { ...armed, silent_to: 9 })
  t.equal(await after(7), 9, 'a seed that lies ahead')
})

t.test('beginning - CL-23 --after-id of the newest message goes on after what was looked at', async t => {
  const { append, eventsDir } = journal(t.testdir())
  const plan = {
    position: { kind: 'after-message', id: 2 },
    selection: { personas: ['river'] },
  } as unknown as Plan
  const past = openHistory(eventsDir)
  const { from } = beginningOf(plan, undefined, past, facts)
  append(3)
  t.match(from, { seq: 2, writer: 'w_1-aa' }, 'not at a head that may lie above by then')
  t.match(beginningOf(plan, undefined, undefined, facts).from, { seq: 0 })
  t.match(beginningOf(plan, undefined, openHistory(eventsDir), facts).from, {
    seq: 2,
    writer: null,
  })
})

t.test('progress - a batch that gave nothing never moves back what was told', async t => {
  const progress = new ReadCursor({ seq: 100, writer: 'w_1-aa' })
  progress.stand(90)
  progress.pass({ seq: 0, writer: null })
  progress.flushed()
  progress.projectId = 'p'
  t.match(progress.place, { seq: 90, writer: null })
})

t.test('unhandled - CL-21 all existing records are counted and printed without being held', async t => {
  const { append, eventsDir } = journal(t.testdir())
  for (let seq = 3; seq <= 50; seq++) append(seq)
  const plan = {
    position: { kind: 'last', lines: Number.POSITIVE_INFINITY },
    selection: { personas: [] },
  } as unknown as Plan
  let looked = 0
  const selects = (): boolean => {
    looked += 1
    return true
  }
  const past = openHistory(eventsDir) as JournalHistory
  const { signal } = new AbortController()
  const entries = await pastEntries(past, plan, selects, new SeenPersonas([]), signal, 40)
  t.equal(looked, 0, 'nothing is read before it is gone through')
  t.equal((await countUnhandled(entries, Date.now())).unhandled, 40)
  looked = 0
  for await (const { record } of entries) {
    t.equal(record.seq, 1, 'from the beginning again')
    break
  }
  t.equal(looked, 1, 'and no further than is asked for')
})

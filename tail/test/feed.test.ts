import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { facts, message, record } from '../../monitor/dist-test/records.js'
import { countBacklog, pastEntries } from '../dist/flow/backlog.js'
import type { FeedStart } from '../dist/flow/feed.js'
import { openFeed } from '../dist/flow/observer-feed.js'
import { ReadCursor } from '../dist/flow/read-cursor.js'
import { beginningOf } from '../dist/flow/start.js'
import type { Plan } from '../dist/plan.js'
import { SeenPersonas } from '../dist/read/query-records.js'
import { RecordLog } from '../dist/read/record-log.js'

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

t.test('feed - CL-38 what comes while it is opened stands above its head, and is given out once', async t => {
  const { append, eventsDir } = journal(t.testdir())
  let asked = 0
  // Asked for once the state is derived, before the observer looks again.
  const start: FeedStart = {
    get kind() {
      asked += 1
      if (asked === 1) append(3)
      return 'head' as const
    },
  }
  const feed = await openFeed(eventsDir, start, { onDrained: () => {} })
  t.equal(feed.head.seq, 2, 'a list of the past stops here')
  const batch = await feed.next()
  t.same(
    batch?.entries.map(({ record }) => record.seq),
    [3],
  )
  await feed.close()
})

t.test('feed - KS-28 KS-35 the cursor of an inbox moves with its messages', async t => {
  const { append, eventsDir } = journal(t.testdir())
  const put = (seq: number, item_type: string, item_id: string, payload: object): void => {
    const { raw } = record(seq, { action: 'update', item_id, item_type })
    const text = JSON.stringify({ ...raw, action: 'update', agent: 'river', item_id, item_type, payload })
    appendFileSync(join(eventsDir, 'seg-00000001.jsonl'), `${text}\n`)
  }
  const armed = { cursor: 1, floor: 1, persona: 'river', schema_version: 1, state: 'up', watched: true }
  put(3, 'persona', 'river', armed)
  const feed = await openFeed(eventsDir, { kind: 'head' }, { onDrained: () => {} })
  t.teardown(() => feed.close())
  t.equal(feed.cursorOf('river'), 2, 'of the existing records')
  t.equal(feed.cursorOf('nobody'), undefined)
  const after = async (seq: number): Promise<number | undefined> => {
    while (((await feed.next())?.reached.seq ?? seq) < seq);
    return feed.cursorOf('river')
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

t.test('beginning - CL-23 --after-id of the newest message goes on after what was looked at', t => {
  const { append, eventsDir } = journal(t.testdir())
  const plan = {
    position: { kind: 'after-message', id: 2 },
    selection: { personas: ['river'] },
  } as unknown as Plan
  const past = RecordLog.open(eventsDir)
  const { start } = beginningOf(plan, undefined, past, facts)
  append(3)
  t.match(start, { kind: 'after', seq: 2, writer: 'w_1-aa' }, 'not at a head that may lie above by then')
  t.match(beginningOf(plan, undefined, undefined, facts).start, { kind: 'after', seq: 0 })
  t.match(beginningOf(plan, undefined, RecordLog.open(eventsDir), facts).start, {
    kind: 'after',
    seq: 2,
    writer: null,
  })
  t.end()
})

t.test('progress - a batch that gave nothing never moves back what was told', t => {
  const progress = new ReadCursor(100, 'w_1-aa', 0)
  progress.stand(90)
  progress.reach({ seq: 0, writer: null })
  progress.flushed()
  t.match(progress.place('p'), { seq: 90, writer: null })
  t.end()
})

t.test('backlog - CL-21 all existing records are counted and printed without being held', async t => {
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
  const past = RecordLog.open(eventsDir) as RecordLog
  const { signal } = new AbortController()
  const entries = await pastEntries(past, plan, selects, new SeenPersonas([]), signal, 40)
  t.equal(looked, 0, 'nothing is read before it is gone through')
  t.equal((await countBacklog(entries, Date.now())).backlog, 40)
  looked = 0
  for await (const { record } of entries) {
    t.equal(record.seq, 1, 'from the beginning again')
    break
  }
  t.equal(looked, 1, 'and no further than is asked for')
})

import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { segmentName } from '@kim/manifest'
import {
  type Change,
  type Cursor,
  memoryCursors,
  type Observer,
  type ObserverOptions,
  openTail,
  type RecordTail,
} from '@kim/observer-sdk'
import { openObserverWith } from '@kim/observer-sdk/internal'
import t, { type Test } from 'tap'
import { until } from '../until.js'
import { journalIn } from './growing-journal.js'

const BRISK = { pace: { slowMs: 25, fastMs: 25 } }
const OTHER = 'd00d'.repeat(8)

async function observe(
  t: Test,
  eventsDir: string,
  options: Partial<ObserverOptions> = {},
): Promise<Observer> {
  const observer = await openObserverWith(
    { eventsDir, cursors: memoryCursors(), from: 'start', ...options },
    BRISK,
  )
  t.teardown(() => observer.close())
  return observer
}

async function tail(t: Test, eventsDir: string, options: Partial<ObserverOptions> = {}): Promise<RecordTail> {
  const follower = await openTail({ eventsDir, cursors: memoryCursors(), from: 'start', ...options })
  t.teardown(() => follower.close())
  return follower
}

async function next(pulls: AsyncGenerator<Change, void>): Promise<Change> {
  const { value, done } = await pulls.next()
  if (done === true || value === undefined) throw new Error('the changes ended')
  return value
}

const seqs = ({ records }: Change): number[] => records.map(({ seq }) => seq)

/** The directory goes, and another journal of so many records comes in its place. */
async function replace(
  t: Test,
  observer: Observer,
  eventsDir: string,
  records: number,
  id?: string,
): Promise<void> {
  rmSync(eventsDir, { recursive: true })
  await until(() => observer.status.kind === 'no_store')
  const journal = journalIn(t, eventsDir, id)
  if (records > 1) journal.grow(records - 1)
  await until(() => observer.head.seq === records)
}

t.test('hand-over - a cursor that cannot be loaded once stops nothing for good (OB-55)', async t => {
  const eventsDir = join(t.testdir(), 'events')
  journalIn(t, eventsDir).grow(1)
  let fails = 1
  const observer = await observe(t, eventsDir, {
    cursors: {
      load: id => {
        if (id === OTHER && fails-- > 0) throw new Error('EMFILE')
        return undefined
      },
      save: () => undefined,
    },
  })
  const pulls = observer.changes()
  t.same(seqs(await next(pulls)), [1, 2])
  const pullOn = async (): Promise<never> => {
    for (;;) await next(pulls)
  }
  const waiting = t.rejects(pullOn(), { message: 'EMFILE' })
  await replace(t, observer, eventsDir, 2, OTHER)
  await waiting
  const again = observer.changes()
  let change = await next(again)
  while (change.records.length === 0) change = await next(again)
  t.same(seqs(change), [1, 2], 'all of the new store')
})

t.test(
  'hand-over - what went before anything stood behind it is a gap all the same (F15, OB-49)',
  async t => {
    const eventsDir = join(t.testdir(), 'events')
    const journal = journalIn(t, eventsDir)
    journal.grow(2)
    journal.roll()
    const second = journal.segment
    journal.grow(4000, { payload: { schema_version: 1, content: 'x'.repeat(500) } })
    const observer = await observe(t, eventsDir)
    const pulls = observer.changes()
    const reached = seqs(await next(pulls)).at(-1) ?? 0
    t.ok(reached > second && reached < journal.seq, `at ${reached} of ${journal.seq}`)
    const first = journal.seq + 1
    const line = journal.line()
    const path = join(eventsDir, segmentName(first))
    writeFileSync(path, line.slice(0, 50))
    rmSync(join(eventsDir, segmentName(second)))
    const pull = next(pulls)
    for (let n = 0; n < 20; n++) await turn()
    writeFileSync(path, line + journal.line())
    const change = await pull
    t.same(change.gap, { from: reached + 1, to: first - 1, reason: 'archived' })
    t.equal(seqs(change)[0], first)
  },
)

t.test(
  'hand-over - left, the store replaced, and taken up: told as to a fresh observer (OB-48, OB-50)',
  async t => {
    for (const [title, id, gap] of [
      ['the same project, rewound', undefined, { from: 4, to: 5, reason: 'rewound' }],
      ['another project', OTHER, { from: 1, to: 5, reason: 'rewound' }],
    ] as const) {
      await t.test(title, async t => {
        const eventsDir = join(t.testdir(), 'events')
        const journal = journalIn(t, eventsDir)
        journal.grow(4)
        const saved = new Map<string, Cursor>()
        const cursors = {
          load: (project: string) => saved.get(project),
          save: (project: string, cursor: Cursor) => void saved.set(project, cursor),
        }
        const observer = await observe(t, eventsDir, { cursors })
        const pulls = observer.changes()
        t.same(seqs(await next(pulls)), [1, 2, 3, 4, 5])
        const more = next(pulls)
        journal.grow(5)
        t.same(seqs(await more), [6, 7, 8, 9, 10])
        await pulls.return()
        t.equal([...saved.values()][0]?.seq, 5, 'what was not asked beyond is not taken')
        await replace(t, observer, eventsDir, 3, id)
        const change = await next(observer.changes())
        t.same(change.gap, gap)
        t.same(seqs(change), id === undefined ? [] : [1, 2, 3])
      })
    }
  },
)

t.test(
  'hand-over - left and taken up, it hands over whatever stands behind the cursor, whatever its seq (OB-44)',
  async t => {
    const eventsDir = join(t.testdir(), 'events')
    const journal = journalIn(t, eventsDir)
    journal.grow(9)
    const observer = await observe(t, eventsDir, { from: 'head' })
    const left = observer.changes()
    for (const seq of [11, 12]) {
      const pull = next(left)
      journal.grow(1)
      t.same(seqs(await pull), [seq])
    }
    await left.return()
    const again = observer.changes()
    t.same(seqs(await next(again)), [12], 'what was not asked beyond')
    const pull = next(again)
    journal.append(journal.line().replace('"seq":13', '"seq":5'))
    journal.append(journal.line())
    const handed = seqs(await pull)
    while (handed.at(-1) !== 14) handed.push(...seqs(await next(again)))
    t.same(handed, [5, 14])
  },
)

t.test('hand-over - left and taken up, it tells the same gap again, until it is taken (OB-49)', async t => {
  for (const [title, cursor, gap, first] of [
    ['archived', { seq: 1, checkpoint_seq: 0, writer: null }, { from: 2, to: 3, reason: 'archived' }, 4],
    ['rewound', { seq: 90, checkpoint_seq: 0, writer: 'w_9-fff' }, { from: 4, to: 90, reason: 'rewound' }, 4],
  ] as const) {
    await t.test(title, async t => {
      const eventsDir = join(t.testdir(), 'events')
      const journal = journalIn(t, eventsDir)
      const begin = journal.segment
      journal.grow(2)
      journal.roll()
      journal.grow(2)
      rmSync(join(eventsDir, segmentName(begin)))
      const saved: Cursor[] = []
      const observer = await observe(t, eventsDir, {
        cursors: { load: () => cursor, save: (_, at) => void saved.push(at) },
      })
      for (let turns = 0; turns < 3; turns++) {
        const pulls = observer.changes()
        const change = await next(pulls)
        t.same(change.gap, gap)
        t.equal(seqs(change)[0], first)
        t.equal(change.cursor.seq, 6)
        await pulls.return()
      }
      t.same(saved, [])
      const pulls = observer.changes()
      await next(pulls)
      const pull = next(pulls)
      journal.grow(1)
      const change = await pull
      t.same([change.gap, seqs(change)], [undefined, [7]])
      t.same(
        saved.map(({ seq }) => seq),
        [6],
      )
    })
  }
})

t.test(
  'hand-over - a segment that goes after the place was found widens the gap before it (OB-47)',
  async t => {
    const eventsDir = join(t.testdir(), 'events')
    const journal = journalIn(t, eventsDir)
    const begins = [journal.segment]
    for (let rolls = 0; rolls < 2; rolls++) {
      journal.grow(2)
      journal.roll()
      begins.push(journal.segment)
    }
    const [first = 0, second = 0, third = 0] = begins
    rmSync(join(eventsDir, segmentName(first)))
    const cursors = { load: () => ({ seq: 1, checkpoint_seq: 0, writer: null }), save: () => undefined }
    for (const open of [observe, tail]) {
      const follower = await open(t, eventsDir, { cursors })
      const content = readFileSync(join(eventsDir, segmentName(second)))
      rmSync(join(eventsDir, segmentName(second)))
      const change = await next(follower.changes())
      t.same(change.gap, { from: 2, to: third - 1, reason: 'archived' })
      t.same(seqs(change), [third])
      await follower.close()
      writeFileSync(join(eventsDir, segmentName(second)), content)
    }
  },
)

t.test(
  'hand-over - lets others have their turns while a consumer catches up that waits for nothing',
  async t => {
    const eventsDir = join(t.testdir(), 'events')
    const journal = journalIn(t, eventsDir)
    const payload = { schema_version: 1, content: 'x'.repeat(2000) }
    for (let batches = 0; batches < 4; batches++) journal.grow(600, { payload })
    for (const open of [observe, tail]) {
      const follower = await open(t, eventsDir)
      let changes = 0
      let turnsBy = 0
      const turned = turn().then(() => {
        turnsBy = changes
      })
      const asleep = new Int32Array(new SharedArrayBuffer(4))
      for await (const { cursor } of follower.changes()) {
        changes += 1
        Atomics.wait(asleep, 0, 0, 30)
        if (cursor.seq === journal.seq) break
      }
      await turned
      t.ok(changes > 3)
      t.ok(turnsBy < changes, 'somebody had a turn in between')
    }
  },
)

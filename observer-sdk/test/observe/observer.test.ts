import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { blobPath, segmentName } from '@kim/manifest'
import {
  type Change,
  type Cursor,
  type CursorStore,
  memoryCursors,
  type Observer,
  type ObserverOptions,
  openObserver,
  openTail,
} from '@kim/observer-sdk'
import { openObserverWith } from '@kim/observer-sdk/internal'
import t, { type Test } from 'tap'
import { until } from '../until.js'
import { journalIn } from './growing-journal.js'

/** Looks every few milliseconds, so that a test of what no notification announces need not wait for seconds. */
const BRISK = { pace: { slowMs: 25, fastMs: 25 } }

/** An observer that is closed when the test ends. */
async function observe(
  t: Test,
  eventsDir: string,
  options: Partial<ObserverOptions> = {},
): Promise<Observer> {
  const observer = await openObserverWith({ eventsDir, cursors: memoryCursors(), ...options }, BRISK)
  t.teardown(() => observer.close())
  return observer
}

const seqs = (change: Change | undefined): number[] => change?.records.map(({ seq }) => seq) ?? []

async function next(pulls: AsyncGenerator<Change, void>): Promise<Change> {
  const { value, done } = await pulls.next()
  if (done === true || value === undefined) throw new Error('the changes ended')
  return value
}

t.test('cursor - a change counts as taken when the next one is asked for (OB-54)', async t => {
  const journal = journalIn(t)
  const cursors = memoryCursors()
  const first = await observe(t, journal.eventsDir, { cursors })
  const pulls = first.changes()
  const pull = next(pulls)
  await turn()
  journal.grow(2)
  t.same(seqs(await pull), [2, 3])
  // The consumer dies here.
  await first.close()
  const second = await observe(t, journal.eventsDir, { cursors })
  const again = second.changes()
  const repeated = await next(again)
  t.same(seqs(repeated), [2, 3], 'handed over once more')
  journal.grow()
  const asked = next(again)
  t.same(seqs(await asked), [4])
  await second.close()
  const third = await observe(t, journal.eventsDir, { cursors })
  t.same(seqs(await next(third.changes())), [4], 'only what was not asked beyond')
})

t.test('cursor - a consumer that breaks off and begins again is handed the same change', async t => {
  const journal = journalIn(t)
  const observer = await observe(t, journal.eventsDir, { from: 'start' })
  for await (const change of observer.changes()) {
    t.same(seqs(change), [1])
    break
  }
  for await (const change of observer.changes()) {
    t.same(seqs(change), [1])
    break
  }
  await t.rejects(
    (async () => {
      const one = observer.changes()
      const other = observer.changes()
      await one.next()
      await other.next()
    })(),
    { code: 'usage' },
    "two consumers at a time would commit each other's cursor",
  )
})

t.test('cursor - nothing that stood before the open is handed over without one (OB-43)', async t => {
  const journal = journalIn(t)
  journal.grow(3)
  const observer = await observe(t, journal.eventsDir)
  journal.grow()
  t.same(seqs(await next(observer.changes())), [5])
  t.equal(observer.state.size, 4)
})

t.test('cursor - a stored value that is none is refused, and is not taken for none (OB-46)', async t => {
  const journal = journalIn(t)
  const cursors: CursorStore = { load: () => ({ seq: 'x' }), save: () => {} }
  await t.rejects(openObserver({ eventsDir: journal.eventsDir, cursors }), { code: 'cursor_invalid' })
})

t.test('cursor - below what is left there is a gap, in the first change (OB-47)', async t => {
  const journal = journalIn(t)
  journal.grow(3)
  journal.roll()
  journal.grow(2)
  rmSync(join(journal.eventsDir, segmentName(1)))
  const cursors: CursorStore = { load: () => ({ seq: 2, checkpoint_seq: 0, writer: null }), save: () => {} }
  const observer = await observe(t, journal.eventsDir, { cursors })
  t.same(observer.status, { kind: 'incomplete', reasons: ['history'] })
  const change = await next(observer.changes())
  t.same(change.gap, { from: 3, to: 4, reason: 'archived' })
  t.same(seqs(change), [5, 6, 7])
})

t.test('cursor - in the archive it is found there, plain or compressed (OB-41, OB-49)', async t => {
  const journal = journalIn(t)
  for (let i = 0; i < 3; i++) {
    journal.grow(2)
    journal.roll()
  }
  journal.archive(1)
  journal.archive(4, readFileSync(join(journal.eventsDir, segmentName(4))))
  const cursors: CursorStore = {
    load: () => ({ seq: 2, checkpoint_seq: 0, writer: 'w_1-abc' }),
    save: () => {},
  }
  const observer = await observe(t, journal.eventsDir, { cursors })
  const change = await next(observer.changes())
  t.equal(change.gap, undefined)
  t.same(seqs(change), [3, 4, 5, 6, 7, 8, 9, 10])
})

t.test('changes - hold records, news, and exactly what became stale (OB-32, OB-33, OB-53)', async t => {
  const journal = journalIn(t)
  const observer = await observe(t, journal.eventsDir)
  const pulls = observer.changes()
  const pull = next(pulls)
  await turn()
  journal.append(
    journal.line({ item_type: 'message', item_id: 'river/1' }) +
      journal.line({ item_type: 'gate', item_id: 'argus/g', event: undefined as never }) +
      journal.line({
        action: 'session_start',
        item_type: 'session',
        item_id: 'loom/s',
        event: undefined as never,
      }) +
      journal.note('store_marker'),
  )
  const change = await pull
  t.same(seqs(change), [2, 3, 4, 5])
  t.same(
    change.news.map(({ seq }) => seq),
    [2],
  )
  t.same(change.itemTypes, ['gate', 'message'])
  t.same(change.sections, ['activity', 'attention', 'gates', 'inbox'])
  t.same(change.personas, ['argus', 'loom', 'river'])
  t.same(change.cursor, { seq: 5, checkpoint_seq: 0, writer: 'w_1-abc' })
})

t.test('changes - what is handed out cannot be used to change the state (OB-13)', async t => {
  const journal = journalIn(t)
  const observer = await observe(t, journal.eventsDir)
  const pull = next(observer.changes())
  await turn()
  journal.grow()
  const [record] = (await pull).records
  t.throws(() => {
    ;(record?.payload as Record<string, unknown>)['read'] = true
  }, TypeError)
  t.equal(observer.state.get('message', 'river/2')?.payload?.['read'], false)
})

t.test('changes - a slow consumer is handed one batch at a time and loses nothing (OB-55)', async t => {
  const journal = journalIn(t)
  const observer = await observe(t, journal.eventsDir)
  const pulls = observer.changes()
  const pull = next(pulls)
  await turn()
  const content = 'x'.repeat(60_000)
  for (let i = 0; i < 60; i++) {
    journal.grow(1, { payload: { schema_version: 1, content } })
    await turn()
  }
  await observer.waitFor(61)
  let change = await pull
  const all = seqs(change)
  while (change.cursor.seq < 61) {
    change = await next(pulls)
    t.ok(change.records.length <= 18, 'about 1 MiB')
    all.push(...seqs(change))
  }
  t.same(
    all,
    Array.from({ length: 60 }, (_, i) => i + 2),
  )
})

t.test('changes - a torn line waits, and a transaction waits for its end (OB-15, OB-19)', async t => {
  const journal = journalIn(t)
  const observer = await observe(t, journal.eventsDir)
  const pulls = observer.changes()
  let pull = next(pulls)
  const line = Buffer.from(journal.line({ summary: '☃ and \u2028 and \u0085' }))
  for (const byte of line.subarray(0, -1)) journal.append(Buffer.from([byte]))
  journal.append('\n')
  const whole = await pull
  t.same(seqs(whole), [2])
  t.equal(whole.records[0]?.summary, '☃ and \u2028 and \u0085')
  pull = next(pulls)
  journal.transaction(3, 2, 'run')
  await turn()
  t.equal(observer.head.seq, 2, 'the head does not count what waits')
  journal.append(journal.line({ tx: { id: 'run', i: 3, n: 3 } }))
  t.same(seqs(await pull), [3, 4, 5], 'together')
})

t.test('changes - end when the observer is closed, also in the middle of a pull', async t => {
  const journal = journalIn(t)
  const observer = await observe(t, journal.eventsDir)
  const pull = observer.changes().next()
  await turn()
  await observer.close()
  t.same(await pull, { value: undefined, done: true })
  t.equal(observer.status.kind, 'closed')
  await observer.close()
  t.same(await observer.changes().next(), { value: undefined, done: true })
  await t.rejects(observer.waitFor(99), { code: 'observer_closed' })
})

t.test('changes - end when the consumer returns in the middle of a pull', async t => {
  const journal = journalIn(t)
  const observer = await observe(t, journal.eventsDir)
  const pulls = observer.changes()
  const pull = pulls.next()
  await turn()
  await pulls.return()
  t.equal((await pull).done, true)
  journal.grow()
  t.same(seqs(await next(observer.changes())), [2], 'the next consumer begins where that one stood')
})

t.test(
  'waitFor - resolves once the seq was applied, rejects when the observer is closed (OB-56)',
  async t => {
    const journal = journalIn(t)
    const observer = await observe(t, journal.eventsDir)
    await observer.waitFor(1)
    const two = observer.waitFor(2)
    const never = observer.waitFor(50)
    journal.grow()
    await two
    t.ok(observer.state.get('message', 'river/2'))
    const rejected = never.catch(({ code }: { code: string }) => code)
    await observer.close()
    t.equal(await rejected, 'observer_closed')
  },
)

t.test('onInvalidate - tells once what a burst made stale, after state changed (OB-57)', async t => {
  const journal = journalIn(t)
  const observer = await observe(t, journal.eventsDir)
  const told: string[][] = []
  const stop = observer.onInvalidate(stale => {
    told.push([...stale.itemTypes])
    t.ok(observer.head.seq > 1)
  })
  journal.grow(5)
  await until(() => told.length > 0)
  t.same(told[0], ['message'])
  stop()
  journal.grow(1, { item_type: 'gate' })
  await observer.waitFor(7)
  await turn()
  t.ok(
    told.every(types => !types.includes('gate')),
    'a removed callback is not called',
  )
})

t.test('state - follows updates and deletes, and gives blobs when they are read (OB-12)', async t => {
  const journal = journalIn(t)
  const content = Buffer.from('{"large":true}')
  const sha256 = createHash('sha256').update(content).digest('hex')
  journal.put(join('blobs', blobPath(sha256)), content)
  const ref = { payload: undefined as never, payload_ref: { sha256, bytes: content.length } }
  const missing = { sha256: 'a'.repeat(64), bytes: 3 }
  journal.grow(1, { item_id: 'river/a', ...ref })
  const observer = await observe(t, journal.eventsDir)
  t.same(observer.state.get('message', 'river/a')?.payload, { large: true })
  journal.grow(1, { item_id: 'river/b', payload: undefined as never, payload_ref: missing })
  await observer.waitFor(3)
  const view = observer.state.get('message', 'river/b')
  t.equal(view?.payload, undefined)
  t.same(view?.unavailable, missing)
  t.equal(observer.state.get('message', 'river/b')?.payload, undefined)
  t.same(observer.anomalies, { blob_missing: 1 }, 'counted once')
  t.same(Array.from(observer.state.values('message'), ({ itemId }) => itemId).sort(), ['river/a', 'river/b'])
  journal.append(journal.line({ action: 'delete', item_id: 'river/a', payload: undefined as never }))
  await observer.waitFor(4)
  t.equal(observer.state.get('message', 'river/a'), undefined)
  t.equal(observer.state.size, 1)
  t.equal(observer.state.get('message', 'nobody'), undefined)
  t.equal(observer.state.get('nothing', 'river/b'), undefined)
})

t.test(
  'state - a line that only looks right gives way to the older one, in a change of its own (OB-11)',
  async t => {
    const journal = journalIn(t)
    journal.grow(1, { item_id: 'river/a', payload: { schema_version: 1, n: 1 } })
    const forged = journal.line({ item_id: 'river/a', payload: { schema_version: 1, n: 2 } })
    journal.append(forged.replace('"n":2', '"n":x'))
    journal.append(journal.line({ item_id: 'river/b' }))
    const observer = await observe(t, journal.eventsDir)
    const pull = next(observer.changes())
    const view = observer.state.get('message', 'river/a')
    t.equal(view?.payload?.['n'], 1)
    t.equal(view?.entityRev, 1)
    t.same(observer.anomalies, { malformed: 1 })
    const change = await pull
    t.same(seqs(change), [])
    t.same(change.itemTypes, ['message'])
  },
)

t.test('directory - absent at the open, it is waited for, and everything in it is new (OB-25)', async t => {
  const eventsDir = join(t.testdir({}), 'deep', 'events')
  const observer = await observe(t, eventsDir)
  t.same(observer.status, { kind: 'no_store', reasons: [] })
  t.same([observer.head, observer.checkpointSeq], [{ seq: 0, writer: null }, 0])
  const pull = next(observer.changes())
  journalIn(t, eventsDir)
  const records = seqs(await pull)
  t.ok(records.length === 0 || records[0] === 1)
  await observer.waitFor(1)
  t.equal(observer.status.kind, 'live')
})

t.test(
  'directory - deleted and recreated, by the same project: a gap, then the new journal (OB-50, F3)',
  async t => {
    const journal = journalIn(t)
    journal.grow(5)
    const observer = await observe(t, journal.eventsDir)
    const pulls = observer.changes()
    const pull = next(pulls)
    rmSync(journal.eventsDir, { recursive: true })
    await until(() => observer.status.kind === 'no_store')
    t.equal(observer.state.size, 0)
    const again = journalIn(t, journal.eventsDir)
    again.writer = 'w_2-def'
    again.grow(2)
    await until(() => observer.status.kind === 'live' && observer.head.seq === 3)
    let change = await pull
    const handed = seqs(change)
    const gaps = [change.gap]
    while (handed.at(-1) !== 3) {
      change = await next(pulls)
      handed.push(...seqs(change))
      gaps.push(change.gap)
    }
    t.ok(gaps.some(gap => gap?.reason === 'rewound' && gap.to === 6))
    t.same(handed.slice(-2), [2, 3])
    t.equal(observer.state.size, 2)
    again.grow()
    await observer.waitFor(4)
    t.same(seqs(await next(pulls)), [4], 'the new directory is watched')
  },
)

t.test(
  'directory - of another project: its own cursor applies, and everything in it is new (OB-50)',
  async t => {
    const journal = journalIn(t)
    journal.grow(2)
    const saved = new Map<string, Cursor>()
    const cursors: CursorStore = { load: id => saved.get(id), save: (id, cursor) => saved.set(id, cursor) }
    const observer = await observe(t, journal.eventsDir, { cursors })
    const pulls = observer.changes()
    const pull = next(pulls)
    await turn()
    renameSync(journal.eventsDir, `${journal.eventsDir}-old`)
    const other = 'd00d'.repeat(8)
    const again = journalIn(t, journal.eventsDir, other)
    again.grow(1)
    let change = await pull
    while (seqs(change).length === 0) change = await next(pulls)
    t.same(seqs(change).slice(0, 1), [1])
    t.equal(observer.projectId, other)
    while (change.cursor.seq < 2) change = await next(pulls)
    const more = next(pulls).catch(() => {})
    await turn()
    t.same(
      [...saved.keys()].sort(),
      ['c0ffee00'.repeat(4), other].sort(),
      'each project has a cursor of its own',
    )
    await observer.close()
    await more
  },
)

t.test('segment - shrunk: counted, and state is what a fresh observer sees (F12, RC-20)', async t => {
  const journal = journalIn(t)
  const path = join(journal.eventsDir, segmentName(1))
  const keep = readFileSync(path).length
  journal.grow(3)
  const observer = await observe(t, journal.eventsDir)
  t.equal(observer.state.size, 3)
  truncateSync(path, keep)
  await until(() => (observer.anomalies.segment_shrunk ?? 0) > 0)
  t.equal(observer.state.size, 0)
  t.equal(observer.head.seq, 1)
})

t.test(
  'segment - replaced, also one that is not the newest: state is derived again (F13, OB-29)',
  async t => {
    const journal = journalIn(t)
    journal.grow(1, { item_id: 'river/a', payload: { schema_version: 1, secret: 'x' } })
    journal.append('garbage\n')
    journal.roll()
    journal.grow(1)
    const observer = await observe(t, journal.eventsDir)
    const path = join(journal.eventsDir, segmentName(1))
    const redacted = readFileSync(path, 'utf8').replace('"secret":"x"', '"redacted":true')
    writeFileSync(join(journal.eventsDir, '.tmp-redacted'), redacted)
    renameSync(join(journal.eventsDir, '.tmp-redacted'), path)
    await until(() => (observer.anomalies.segment_replaced ?? 0) > 0)
    t.same(observer.state.get('message', 'river/a')?.payload, { schema_version: 1, redacted: true })
    t.same(observer.anomalies, { malformed: 1, segment_replaced: 1 }, 'no line is counted a second time')
    journal.grow()
    await observer.waitFor(journal.seq)
    t.pass('and it follows on')
  },
)

t.test('segment - B7 OB-18 what a stalled writer appends to a rolled one is seen, and counted', async t => {
  const journal = journalIn(t)
  journal.grow(1)
  const stalled = openSync(join(journal.eventsDir, segmentName(1)), 'a')
  t.teardown(() => closeSync(stalled))
  journal.roll()
  journal.grow(1)
  const observer = await observe(t, journal.eventsDir)
  writeSync(stalled, journal.line({ item_id: 'river/late' }))
  await until(() => observer.state.get('message', 'river/late') !== undefined)
  t.match(observer.anomalies, { segment_grown: 1, segment_replaced: undefined })
  t.equal(observer.status.kind, 'live')
  journal.grow()
  await observer.waitFor(journal.seq)
  t.equal(observer.anomalies.segment_grown, 1, 'once')
})

t.test('directory - on a read-only mount or without permission it does not throw (OB-3)', async t => {
  const journal = journalIn(t)
  journal.grow(1)
  chmodSync(join(journal.eventsDir, segmentName(1)), 0o400)
  chmodSync(journal.eventsDir, 0o500)
  const observer = await observe(t, journal.eventsDir)
  t.equal(observer.state.size, 1)
  chmodSync(journal.eventsDir, 0o700)
  const file = join(journal.eventsDir, '..', 'file')
  writeFileSync(file, 'x')
  const none = await observe(t, file)
  t.equal(none.status.kind, 'no_store', 'a file is no directory')
  const below = await observe(t, join(file, 'events'))
  t.match(below.status.kind, /no_store|degraded/)
})

t.test('directory - strange things under legal names are passed over (F6, RC-21)', async t => {
  const journal = journalIn(t)
  journal.grow(1)
  mkdirSync(join(journal.eventsDir, segmentName(50)))
  const observer = await observe(t, journal.eventsDir)
  t.equal(observer.state.size, 1)
  t.equal(observer.head.seq, 2)
})

t.test('options - what types would have refused is refused in words', async t => {
  const { eventsDir } = journalIn(t)
  const cursors = memoryCursors()
  for (const [options, message] of [
    [{ directory: eventsDir, cursors }, /^eventsDir must be/],
    [{ eventsDir: '', cursors }, /^eventsDir must be/],
    [{ eventsDir }, /^cursors must be a cursor store/],
    [{ eventsDir, cursors: {} }, /^cursors must be a cursor store/],
  ] as const)
    for (const open of [openObserver, openTail])
      await t.rejects(open(options as unknown as ObserverOptions), { code: 'usage', message })
})

t.test('cursors - inside the observed store they are refused: that would be a write into it', async t => {
  const journal = journalIn(t)
  const store = join(journal.eventsDir, '..')
  mkdirSync(join(store, 'run'))
  for (const directory of [store, join(store, 'cursors'), join(journal.eventsDir, 'x', 'y')]) {
    const cursors: CursorStore = { directory, load: () => undefined, save: () => {} }
    const hint = `use a directory outside ${realpathSync(store)}`
    await t.rejects(openObserver({ eventsDir: journal.eventsDir, cursors }), { code: 'usage', hint })
  }
})

t.test('cursors - beside an events directory that is in no store they are allowed', async t => {
  const root = t.testdir({ events: {} })
  const cursors: CursorStore = { directory: join(root, 'state'), load: () => undefined, save: () => {} }
  await (await openObserver({ eventsDir: join(root, 'events'), cursors })).close()
  const storeDir = join(root, 'not-yet')
  const inside = { ...cursors, directory: join(storeDir, 'state') }
  const hint = `use a directory outside ${join(realpathSync(root), 'not-yet')}`
  await t.rejects(openObserver({ storeDir, cursors: inside }), { code: 'usage', hint })
})

t.test('signal - aborted, it closes the observer', async t => {
  const journal = journalIn(t)
  const controller = new AbortController()
  const observer = await observe(t, journal.eventsDir, { signal: controller.signal })
  controller.abort()
  await until(() => observer.status.kind === 'closed')
  await t.rejects(
    openObserver({ eventsDir: journal.eventsDir, cursors: memoryCursors(), signal: AbortSignal.abort() }),
  )
})

t.test('close - leaves no handle and no timer: the process ends by itself (OB-58)', async t => {
  const journal = journalIn(t)
  const script = fileURLToPath(new URL('closer.js', import.meta.url))
  for (const manner of ['at-once', 'while-appending', 'absent', 'in-a-pull']) {
    const child = spawnSync(process.execPath, [script, journal.eventsDir, manner], {
      encoding: 'utf8',
      timeout: 20_000,
    })
    t.equal(child.status, 0, `${manner}: ${child.stderr}`)
    t.equal(child.stdout, 'nothing left\n', manner)
  }
})

t.test('source - a live segment that cannot be read does not hide its archived copy (F6)', async t => {
  const journal = journalIn(t)
  journal.grow(2)
  journal.archive(1)
  mkdirSync(join(journal.eventsDir, segmentName(1)))
  const observer = await observe(t, journal.eventsDir)
  t.equal(observer.state.size, 2)
  t.equal(observer.head.seq, 3)
  const pulls = observer.changes()
  journal.roll()
  journal.grow()
  t.ok(seqs(await next(pulls)).length > 0)
  t.equal(observer.anomalies.segment_replaced, undefined)
  t.equal(observer.status.kind, 'degraded')
  t.match(observer.anomalies, { unreadable: 1 })
})

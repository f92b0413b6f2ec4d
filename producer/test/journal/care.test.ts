import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { exportRecords, type Journal, redactStore, repairStore } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { holding } from '../kit/holding.js'
import { codeOf, message, messages, persona, TestStore, throwsCode } from '../kit/store.js'

async function all(lines: AsyncIterable<Buffer>): Promise<Buffer[]> {
  const found: Buffer[] = []
  for await (const line of lines) found.push(line)
  return found
}

const SECRET = 'the launch code is 0000'

/** A store whose river/2 holds a secret in live and archived segments, in a blob and in checkpoints. */
function secretive(t: Test, gzip = false): TestStore {
  const store = new TestStore(t)
  store.with(
    journal => {
      for (let n = 1; n <= 4; n++) {
        const content = n === 3 ? SECRET + 'y'.repeat(70_000) : SECRET
        journal.append([message(2, { action: 'update', summary: SECRET }, { content, n }), message(10 + n)])
        journal.append([message(5, { action: 'update' }, { content: 'z'.repeat(70_000) })])
        journal.checkpoint()
      }
    },
    { gzip },
  )
  t.ok(holding(store.paths.events, SECRET).length > 4)
  return store
}

for (const gzip of [false, true]) {
  t.test(
    `redact - erases one entity everywhere and keeps every other byte (JF-75 to JF-77), gzip ${gzip}`,
    async t => {
      const store = secretive(t, gzip)
      const others = store.lines().filter(({ item_id }) => item_id !== 'river/2')
      const target = { item_type: 'message', item_id: 'river/2' }
      const { opening, ...dry } = redactStore({
        ...store.options(),
        target,
        reason: 'asked for',
        dryRun: true,
      })
      t.equal(dry.records, 4)
      t.same(opening, [])
      t.ok(holding(store.paths.events, SECRET).length > 4, 'a dry run changes nothing')
      t.same(redactStore({ ...store.options(), target, reason: 'asked for' }), dry)
      t.same(holding(store.paths.events, SECRET), [])
      t.same(
        store
          .lines()
          .filter(({ item_id }) => item_id !== 'river/2')
          .slice(0, others.length),
        others,
      )
      const erased = store.lines().filter(({ item_id }) => item_id === 'river/2')
      t.same(
        erased.map(({ entity_rev }) => entity_rev),
        [1, 2, 3, 4],
      )
      for (const line of erased)
        t.match(line, { summary: 'redacted', payload: { redacted: true, schema_version: 1 } })
      t.match(store.notes('redaction'), [{ payload: { reason: 'asked for', ...target, part: 1, parts: 1 } }])
      t.equal(store.checkpoints().length, 1, 'the older checkpoints are gone')
      t.notOk(readdirSync(store.paths.archive).some(name => name.startsWith('ckpt')))
      t.ok((await store.verified(t)).includes('redacted'))
      store.with(journal => {
        t.same(journal.state.get('message', 'river/2')?.payload, { redacted: true, schema_version: 1 })
        t.equal(
          journal.state.get('message', 'river/5')?.payload?.['content'],
          'z'.repeat(70_000),
          'its blob stays',
        )
        journal.checkpoint()
      })
      t.equal(
        redactStore({ ...store.options(), target, reason: 'again' }).records,
        0,
        'nothing is left to erase',
      )
      await store.verified(t)
    },
  )
}

t.test('redact - by number, and only what is content', async t => {
  const store = secretive(t)
  const seq = store.lines().find(({ item_id }) => item_id === 'river/2')?.seq ?? 0
  const by =
    (target: { seq: number } | { item_type: string; item_id: string }): (() => unknown) =>
    () =>
      redactStore({ ...store.options(), target, reason: 'x' })
  throwsCode(t, 'usage', by({ seq: 1 }), 'a note')
  throwsCode(t, 'no_record', by({ seq: 9999 }))
  t.match(by({ seq })(), { item_id: 'river/2', records: 4 })
  throwsCode(t, 'no_record', by({ item_type: 'message', item_id: 'unknown/1' }))
  t.match(by({ seq })(), { records: 0 }, 'what was erased before is there, and holds nothing')
})

t.test('redact - a running producer keeps it out (exit 75)', async t => {
  const store = new TestStore(t)
  store.open()
  const target = { item_type: 'message', item_id: 'river/1' }
  t.throws(() => redactStore({ ...store.options(), target, reason: 'x' }), {
    code: 'store_held',
    exitCode: 75,
  })
  t.throws(() => repairStore(store.options()), { code: 'store_held' })
})

t.test('redact - an open finishes what a crash or a full disk left (table D)', async t => {
  const target = { item_type: 'message', item_id: 'river/2' }
  const calls = ['renameSync', 'unlinkSync', 'fsyncSync', 'writeSync'] as const
  for (const name of calls) {
    for (const part of ['seg-', 'ckpt-', '/blobs/', '/archive']) {
      for (const code of ['EIO', 'ENOSPC']) {
        const store = secretive(t)
        store.fs.break(name, part, code)
        codeOf(() => redactStore({ ...store.options(), target, reason: 'x' }))
        store.fs.heal()
        store.with(journal => journal.append([message(99)]))
        const announced = store.notes('redaction').length > 0
        t.equal(holding(store.paths.events, SECRET).length === 0, announced, `${name} ${part} ${code}`)
        await store.verified(t)
      }
    }
  }
})

t.test('redact - a file that is neither before nor after stops the open (D8)', async t => {
  const store = secretive(t)
  store.fs.break('renameSync', 'seg-', 'EIO')
  codeOf(() =>
    redactStore({ ...store.options(), target: { item_type: 'message', item_id: 'river/2' }, reason: 'x' }),
  )
  store.fs.heal()
  const victim = join(store.paths.archive, 'seg-00000001.jsonl')
  writeFileSync(victim, '\n', { flag: 'a' })
  t.throws(() => store.open(), { code: 'store_damaged', exitCode: 1, message: /seg-00000001/ })
})

t.test('repair - sets damage aside, names it, and rewrites nothing (JF-78)', async t => {
  const store = new TestStore(t)
  store.with(
    (journal: Journal) => {
      journal.append(messages(1, 5))
      journal.roll()
      journal.append(messages(6, 9))
      journal.checkpoint()
    },
    { gc: false },
  )
  const first = store.segment('seg-00000001.jsonl')
  const bytes = readFileSync(first)
  bytes[bytes.indexOf('river/3') + 1] = 0xff
  writeFileSync(first, bytes)
  writeFileSync(join(store.paths.checkpoints, 'ckpt-00000003.json'), 'junk')
  execFileSync('mkfifo', [join(store.paths.archive, 'seg-00000009.jsonl')])
  const irregular = [join(store.paths.archive, 'seg-00000009.jsonl')]
  const { opening, ...dry } = repairStore({ ...store.options({ gc: false }), dryRun: true })
  t.same(opening, [])
  t.match(dry.lines, [{ segment: 'seg-00000001.jsonl' }])
  t.same(dry.holes, [{ from: 4, to: 4 }])
  t.notOk(existsSync(store.paths.quarantine))
  const report = repairStore(store.options({ gc: false }))
  t.same(report, dry, 'the dry run said all of it')
  t.same(report.irregular, irregular)
  t.ok(readFileSync(first).equals(bytes))
  const [line] = report.lines
  const copy = join(store.paths.quarantine, `seg-00000001.jsonl.${line?.from}-${line?.to}`)
  t.ok(readFileSync(copy).equals(bytes.subarray(line?.from, line?.to)))
  t.ok(readdirSync(store.paths.quarantine).includes('ckpt-00000003.json'))
  t.notOk(existsSync(join(store.paths.archive, 'seg-00000009.jsonl')))
  t.equal(store.notes('torn_tail_adjudicated').length, 1)
  t.equal(store.notes('seq_repair').length, 1)
  t.equal(statSync(store.paths.quarantine).mode & 0o777, 0o700)
  const again = repairStore(store.options({ gc: false }))
  t.same(again, { irregular: [], checkpoints: [], lines: [], runs: [], holes: [] }, 'nothing is said twice')
  await store.verified(t, 6)
})

t.test('repair - of a clean store does nothing', async t => {
  const store = new TestStore(t)
  store.with(journal => {
    journal.append([persona(), message(1)])
    journal.checkpoint()
  })
  const size = statSync(store.segment()).size
  t.same(repairStore(store.options()), { irregular: [], checkpoints: [], lines: [], runs: [], holes: [] })
  t.equal(statSync(store.segment()).size, size)
  await store.verified(t)
})

t.test('export - streams the records of a slice, archive included, without a lock', async t => {
  const store = new TestStore(t)
  const journal = store.open()
  for (let n = 1; n <= 4; n++) {
    journal.append([message(n), { ...message(n), agent: 'argus', item_id: `argus/${n}` }])
    journal.checkpoint()
  }
  const lines = async (more: object = {}): Promise<{ seq: number; agent: string }[]> => {
    const exported = await all(exportRecords({ storeDir: store.dir, ...more }))
    return exported.map(line => JSON.parse(line.toString('utf8')))
  }
  const every = await lines()
  t.same(
    every.map(({ seq }) => seq),
    Array.from({ length: journal.head.seq }, (_, n) => n + 1),
  )
  t.same(
    (await lines({ from: 5, to: 9 })).map(({ seq }) => seq),
    [5, 6, 7, 8, 9],
  )
  t.equal((await lines({ agents: ['argus'] })).length, 4)
  t.same(await lines({ from: 1000 }), [])
  const text = (await all(exportRecords({ storeDir: store.dir }))).join('')
  const stored = store.lines().length
  t.equal(text.split('\n').length - 1, stored)
  journal.close()
  rmSync(store.paths.archive, { recursive: true })
  t.ok((await lines()).length < every.length)
})

/** A store with an archived segment that cannot be unpacked, and the name of that file. */
function brokenArchive(t: Test): { readonly store: TestStore; readonly packed: string } {
  const store = new TestStore(t)
  store.with(
    journal => {
      for (let n = 1; n <= 4; n++) {
        journal.append([message(n)])
        journal.checkpoint()
      }
    },
    { gzip: true },
  )
  const [packed = ''] = readdirSync(store.paths.archive).filter(name => name.endsWith('.gz'))
  const path = join(store.paths.archive, packed)
  writeFileSync(path, readFileSync(path).subarray(0, 40))
  return { store, packed }
}

t.test('repair - what it cannot repair does not send its reader to it again', async t => {
  const { store } = brokenArchive(t)
  const hint = /^journal repair cannot repair this\. Restore/
  t.throws(() => repairStore(store.options()), { code: 'store_damaged', hint })
  t.throws(() => repairStore({ ...store.options(), dryRun: true }), {
    code: 'store_damaged',
    hint: /^nothing was changed; journal repair/,
  })
})

t.test('export - reads as an observer does: changes nothing and goes on behind what is damaged', async t => {
  const { store, packed } = brokenArchive(t)
  execFileSync('mkfifo', [join(store.paths.events, 'seg-00000999.jsonl')])
  chmodSync(store.segment(store.segments()[0]), 0o444)
  const told: string[] = []
  const unreadable = (why: string): void => void told.push(why)
  const lines = await all(exportRecords({ storeDir: store.dir, unreadable }))
  t.ok(lines.length > 5)
  t.match(told, [new RegExp(packed), /seg-00000999/])
  t.equal(statSync(store.segment(store.segments()[0])).mode & 0o777, 0o444)
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { memoryCursors, openObserver } from '@kim/observer-sdk'
import { verifyJournal } from '@kim/observer-sdk/verify'
import * as producer from '@kim/producer'
import { type Draft, KimError, openJournal } from '@kim/producer'
import t, { type Test } from 'tap'
import { homeOf } from '../kit/home.js'
import { compileFiles } from './compile.js'

const source = 'https://ci.example/builds'

function storeDirectory(t: Test): string {
  const directory = homeOf(t)
  return join(directory, 'store')
}

function build(number: number, result: string): Draft {
  return {
    agent: 'builder',
    action: 'update',
    item_type: 'build',
    item_id: `main/${number}`,
    summary: `build ${number}: ${result}`,
    payload: { schema_version: 1, result },
    key: `build-${number}-${result}`,
  }
}

t.test('producer door - a program appends, reopens, and reads back with the SDK', async t => {
  const storeDir = storeDirectory(t)
  t.throws(() => openJournal({ storeDir }), { code: 'no_store' }, 'without a source no journal is created')
  const first = openJournal({ storeDir, source })
  t.throws(() => openJournal({ storeDir, source }), { code: 'store_held' })
  t.same(first.append([build(1, 'failed'), build(2, 'passed')], { tx: true }), {
    seqs: [2, 3],
    deduped: [false, false],
  })
  t.same(await first.submit([build(1, 'passed')]), { seqs: [4], deduped: [false] })
  t.throws(() => first.append([{ ...build(3, 'passed'), item_id: 3 as unknown as string }]), {
    code: 'record_invalid',
  })
  first.checkpoint()
  first.close()
  t.throws(() => first.append([build(3, 'passed')]), KimError)
  t.throws(() => openJournal({ storeDir, source: 'https://other.example' }), { code: 'source_mismatch' })

  const again = openJournal({ storeDir })
  t.equal(again.projectId, first.projectId)
  t.same(again.state.get('build', 'main/1')?.payload, { schema_version: 1, result: 'passed' })
  t.same(again.append([build(2, 'passed')]), { seqs: [3], deduped: [true] }, 'a known key appends nothing')
  t.equal(again.append([build(3, 'failed')]).seqs[0], again.head.seq)
  again.close()

  const eventsDir = join(storeDir, 'events')
  const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
  t.teardown(() => observer.close())
  const results = [...observer.state.values('build')].map(({ itemId, payload }) => [
    itemId,
    payload?.['result'],
  ])
  t.same(results.toSorted(), [
    ['main/1', 'passed'],
    ['main/2', 'passed'],
    ['main/3', 'failed'],
  ])
  t.match(await verifyJournal({ eventsDir }), { exit: 0 })
})

t.test('producer door - lets no test switch through', async t => {
  t.same(Object.keys(producer).sort(), ['KimError', 'openJournal', 'retryDelayMs'])
  const use = (options: string): string =>
    `import { openJournal } from '@kim/producer'\nopenJournal({ storeDir: 'x', ${options} }).close()\n`
  t.equal(await compileFiles(t, { 'plain.ts': use('gzip: true') }), '')
  for (const hidden of ['switches: { skipKeyLookup: true }', 'fs: {}', 'clock: {}'])
    t.match(await compileFiles(t, { 'hidden.ts': use(hidden) }), /TS2353/, hidden)

  const storeDir = storeDirectory(t)
  const switched = { storeDir, source, switches: { skipKeyLookup: true, skipFsync: true } }
  const journal = openJournal(switched)
  t.teardown(() => journal.close())
  journal.append([build(1, 'failed')])
  t.same(journal.append([build(1, 'failed')]).deduped, [true], 'a switch that a cast lets in has no effect')
  const lines = readFileSync(join(storeDir, 'events', 'seg-00000001.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
  t.equal(lines.length, 2, 'the genesis note and one record')
})

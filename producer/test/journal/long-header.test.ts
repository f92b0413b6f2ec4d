import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { limits } from '@kim/manifest'
import type { Draft, Journal } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { message, TestStore } from '../kit/store.js'

const fast = { gc: false, switches: { skipFsync: true, skipDirectorySync: true } }

/** Fills a journal with many drafts at a time. */
function fill(journal: Journal, count: number, draft: (n: number) => Draft): void {
  for (let from = 0; from < count; from += 200) {
    journal.append(Array.from({ length: 200 }, (_, n) => draft(from + n)))
  }
}

/** No line of the newest checkpoint is longer than a reader takes, and all of it is one JSON document. */
async function isSound(t: Test, store: TestStore): Promise<void> {
  const text = readFileSync(join(store.paths.checkpoints, store.checkpoints().at(-1) ?? ''), 'utf8')
  t.ok(text.length > limits.lineReadBytesMax)
  t.ok(text.split('\n').every(line => line.length < limits.lineWrittenBytesMax))
  t.same(Object.keys(JSON.parse(text)).length, 10)
  await store.verified(t)
}

t.test('checkpoint - more keys than a line could hold are remembered (JF-63, JF-73)', async t => {
  const store = new TestStore(t)
  const key = (n: number): string => String(n).padStart(limits.keyBytesMax, 'k')
  const gate = (n: number): Draft => message(1, { item_type: 'gate', action: 'update', key: key(n) })
  store.with(journal => {
    fill(journal, 17_000, gate)
    journal.checkpoint()
  }, fast)
  await isSound(t, store)
  store.with(journal => {
    t.ok(journal.checkpointSeq > 17_000, 'it is read again')
    t.same(journal.append([gate(0), gate(16_999)]).deduped, [true, true])
    journal.append([message(2)])
    journal.checkpoint()
  }, fast)
  await isSound(t, store)
})

t.test('checkpoint - more removed entities than a line could hold are remembered (JF-63)', async t => {
  const store = new TestStore(t)
  const id = (n: number): string => String(n).padStart(limits.nameBytesMax, 'i')
  const gone = (n: number): Draft =>
    message(1, { item_type: 'gate', item_id: id(n >> 1), ...(n % 2 === 0 ? {} : { action: 'delete' }) })
  store.with(
    journal => {
      fill(journal, 8600, n => gone(n))
      journal.checkpoint()
    },
    { ...fast, segmentBytes: 2 ** 26 },
  )
  await isSound(t, store)
  store.with(journal => {
    t.ok(journal.checkpointSeq > 8600, 'it is read again')
    t.equal(journal.state.revisionOf('gate', id(0)), 2)
  }, fast)
})

import { copyFileSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type Draft, repairStore } from '@kim/producer/internal'
import t, { type Test } from 'tap'
import { message, messages, TestStore } from '../kit/store.js'

// A power cut may leave a commit that nobody was told of without any of its pages: the file has its length, and
// where a page is missing it holds zeros. Small pages stand for large ones here, so that there are many.
const pageBytes = 512

/** What is durable is not the matter here, and it takes its time. */
const fast = { switches: { skipFsync: true, skipDirectorySync: true } }

interface Batch {
  readonly drafts: readonly Draft[]
  readonly tx: boolean
}

const commits: Readonly<Record<string, readonly Batch[]>> = {
  'a batch': [{ drafts: messages(100, 115), tx: false }],
  'a transaction': [{ drafts: messages(100, 115), tx: true }],
  'batches around a transaction': [
    { drafts: messages(100, 104), tx: false },
    { drafts: messages(105, 112), tx: true },
    { drafts: messages(113, 117), tx: false },
  ],
  'two transactions': [
    { drafts: messages(100, 107), tx: true },
    { drafts: messages(108, 115), tx: true },
  ],
}

/** A store whose last commit was under way when the power went; where in its segment that commit begins. */
async function unfinished(t: Test, batches: readonly Batch[]): Promise<{ store: TestStore; from: number }> {
  const store = new TestStore(t)
  store.with(journal => {
    journal.append([message(1)])
    store.clock.mono += 5
    journal.append([message(2)])
  })
  const from = statSync(store.segment()).size
  const journal = store.open()
  store.clock.mono += 5
  await Promise.all(batches.map(({ drafts, tx }) => journal.submit(drafts, { tx })))
  journal.close()
  rmSync(store.paths.meta)
  copyFileSync(store.segment(), `${store.dir}.whole`)
  return { store, from }
}

for (const [what, batches] of Object.entries(commits)) {
  for (const pages of [1, 2]) {
    t.test(`recovery - ${what}, ${pages} of its pages missing anywhere (RC-7)`, async t => {
      const { store, from } = await unfinished(t, batches)
      const whole = readFileSync(`${store.dir}.whole`)
      const last = Math.floor((whole.length - 1) / pageBytes)
      for (let page = Math.floor(from / pageBytes); page <= last; page++) {
        for (let other = page + 1; other <= (pages === 1 ? page + 1 : last); other++) {
          const torn = Buffer.from(whole)
          torn.fill(0, Math.max(from, page * pageBytes), Math.min(torn.length, (page + 1) * pageBytes))
          if (pages === 2) torn.fill(0, other * pageBytes, Math.min(torn.length, (other + 1) * pageBytes))
          writeFileSync(store.segment(), torn)
          rmSync(store.paths.meta, { force: true })
          store.with(journal => {
            store.clock.mono += 5
            journal.append([message(9999)])
          }, fast)
          await store.verified(t)
          const notes = store.notes('torn_tail_adjudicated').length + store.notes('tx_abandoned').length
          store.with(journal => journal.append([message(9998)]), fast)
          t.equal(
            store.notes('torn_tail_adjudicated').length + store.notes('tx_abandoned').length,
            notes,
            'said once',
          )
        }
      }
    })
  }
}

t.test('recovery - what an earlier commit lost is for repair to say (RC-7, JF-78)', async t => {
  const store = new TestStore(t)
  store.with(journal => {
    for (let id = 1; id <= 3; id++) {
      store.clock.mono += 5
      journal.append(messages(10 * id, 10 * id + 4))
    }
  })
  const bytes = readFileSync(store.segment())
  const at = bytes.indexOf('river/11')
  bytes.fill(0, at, at + 4)
  writeFileSync(store.segment(), bytes)
  store.with(journal => journal.append([message(99)]))
  t.equal(store.notes('torn_tail_adjudicated').length, 0)
  await store.verified(t, 6)
  t.match(repairStore(store.options()), { lines: [{ segment: 'seg-00000001.jsonl' }] })
  await store.verified(t)
})

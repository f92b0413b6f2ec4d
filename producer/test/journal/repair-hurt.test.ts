import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { repairStore } from '@kim/producer/internal'
import t from 'tap'
import { message, TestStore, throwsCode } from '../kit/store.js'

/** One flipped bit in the first line of the newest segment. */
function hurt(store: TestStore): void {
  const bytes = readFileSync(store.segment())
  bytes[0] = (bytes[0] ?? 0) ^ 1
  writeFileSync(store.segment(), bytes)
}

for (const rolled of [true, false]) {
  t.test(`repair - goes on behind a first line that is hurt, rolled ${rolled} (R10, JF-78)`, async t => {
    const store = new TestStore(t)
    store.with(
      journal => {
        journal.append([message(1)])
        if (rolled) journal.checkpoint()
        journal.append([message(2)])
      },
      { gc: false },
    )
    hurt(store)
    const before = store.segments()
    throwsCode(t, 'store_damaged', () => store.open())
    const dry = repairStore({ ...store.options(), dryRun: true })
    t.equal(dry.lines.length, 1)
    t.same(store.segments(), before, 'a dry run changes nothing')
    t.match(repairStore(store.options({ gc: false })), { lines: [{ segment: before.at(-1), from: 0 }] })
    t.ok(store.segments().length > before.length)
    store.with(journal => {
      t.ok(journal.state.has('message', 'river/1') && journal.state.has('message', 'river/2'))
      journal.append([message(3)])
    })
    t.equal(repairStore(store.options()).lines.length, 0, 'said once')
  })
}

t.test('repair - a journal that nothing says is ours stays foreign (R9)', async t => {
  const store = new TestStore(t)
  store.with(journal => journal.append([message(1)]))
  hurt(store)
  rmSync(store.paths.meta)
  throwsCode(t, 'journal_foreign', () => store.open())
  throwsCode(t, 'journal_foreign', () => repairStore(store.options()))
})

for (const bytes of ['', '\n', 'junk\n', '{"v":2,"se']) {
  t.test(`repair - a segment ${JSON.stringify(bytes)} that no roll made is set aside (RC-12)`, async t => {
    const store = new TestStore(t)
    store.with(journal => journal.append([message(1)]))
    for (const name of ['seg-00000099.jsonl', 'seg-99999999.jsonl']) {
      writeFileSync(store.segment(name), bytes, { mode: 0o600 })
    }
    throwsCode(t, 'store_damaged', () => store.open())
    t.same(store.lines().at(-1)?.item_id, 'river/1', 'nothing was appended')
    t.equal(repairStore({ ...store.options(), dryRun: true }).irregular.length, 2)
    t.equal(repairStore(store.options()).irregular.length, 2)
    t.same(readdirSync(store.paths.quarantine).sort(), ['seg-00000099.jsonl', 'seg-99999999.jsonl'])
    store.with(journal => t.same(journal.append([message(2)]).seqs, [3]))
    await store.verified(t)
  })
}

t.test('meta - a huge one is no reason to stay shut (JF-87)', async t => {
  const store = new TestStore(t)
  store.with(journal => journal.append([message(1)]))
  truncateSync(store.paths.meta, 2_000_000_000)
  store.with(journal => t.same(journal.append([message(2)]).seqs, [3]))
  t.ok(readFileSync(store.paths.meta).length < 4096, 'it was replaced')
  await store.verified(t)
})

t.test('repair - reads each damaged line where it stands', async t => {
  const store = new TestStore(t)
  store.with(journal => {
    for (let id = 1; id <= 40; id++) journal.append([message(id, {}, { text: 'x'.repeat(20_000) })])
  })
  const whole = readFileSync(store.segment())
  const [last = ''] = whole.toString('utf8').trimEnd().split('\n').slice(-1)
  store.scribble('junk\n'.repeat(100))
  store.scribble(`${last.replaceAll('river/40', 'river/41').replace('"seq":41', '"seq":42')}\n`)
  let read = 0
  store.fs.fault = ({ name }) => {
    if (name === 'readSync') read++
    return undefined
  }
  t.equal(repairStore(store.options()).lines.length, 100)
  t.ok(read < 400, `${read} reads`)
  await store.verified(t)
})

import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { jcs, sha256Hex } from '@kim/manifest'
import type { Draft } from '@kim/producer/internal'
import t from 'tap'
import { message, messages, TestStore, throwsCode } from '../kit/store.js'

t.test('append - a receipt follows the sync and names the seqs (JF-82, JF-84)', async t => {
  const store = new TestStore(t)
  const journal = store.open()
  store.fs.calls.length = 0
  const receipt = journal.append([message(1), message(2)])
  t.same(receipt, { seqs: [2, 3], deduped: [false, false] })
  const own = store.fs.calls.filter(({ path }) => path.endsWith('.jsonl')).map(({ name }) => name)
  t.same(own.slice(0, 3), ['lstatSync', 'writeSync', 'fdatasyncSync'], 'fence, one write, sync')
  t.equal(journal.head.seq, 3)
  t.equal(journal.head.writer, journal.writer)
  t.match(journal.state.get('message', 'river/2'), { entity_rev: 1, payload: { id: 2 } })
  t.same(journal.append([]), { seqs: [], deduped: [] })
  journal.close()
  throwsCode(t, 'journal_closed', () => journal.append([message(3)]))
  await store.verified(t)
})

t.test(
  'append - what the journal gives: seq, revision, clock, writer, sorted keys (JF-11, JF-13, JF-44)',
  async t => {
    const store = new TestStore(t)
    store.with(journal => {
      const gate = (more: Partial<Draft>): Draft => message(1, { item_type: 'gate', ...more })
      journal.append([gate({ wait_ms: 7 })])
      journal.append([gate({ action: 'update' }), gate({ action: 'delete', payload: undefined })])
      journal.append([gate({ action: 'update' })])
      journal.append([gate({ action: 'session_start' })])
    })
    const own = store.lines().filter(({ item_type }) => item_type === 'gate')
    t.same(
      own.map(({ entity_rev }) => entity_rev),
      [1, 2, 3, 4, 4],
      'every change counts, an activity does not',
    )
    t.same(own[0]?.clock, { mono_ms: 1000, boot_ms: 1500, wait_ms: 7 })
    t.same(
      own.map(({ seq }) => seq),
      [2, 3, 4, 5, 6],
    )
    for (const line of readFileSync(store.segment(), 'utf8').trimEnd().split('\n')) {
      t.equal(line, jcs(JSON.parse(line)))
      t.match(line, /"v":2,"writer":"w_\d+-[0-9a-f]{6}"}$/)
    }
  },
)

t.test('append - a transaction stands in consecutive lines and never straddles a roll (JF-43)', async t => {
  const store = new TestStore(t)
  store.with(
    journal => {
      for (let n = 0; n < 6; n++) journal.append(messages(n * 4 + 1, n * 4 + 4), { tx: true })
      journal.append([message(99)], { tx: true })
    },
    { segmentBytes: 1500 },
  )
  const runs = store.lines().filter(({ tx }) => tx !== undefined)
  t.equal(runs.length, 24, 'one record needs no run')
  t.same(
    runs.slice(0, 4).map(({ tx }) => [tx?.i, tx?.n]),
    [
      [1, 4],
      [2, 4],
      [3, 4],
      [4, 4],
    ],
  )
  t.equal(new Set(runs.map(({ tx }) => tx?.id)).size, 6)
  await store.verified(t)
})

t.test('append - a known key answers with the first receipt and appends nothing (JF-73)', async t => {
  const store = new TestStore(t)
  const first = store.with(journal =>
    journal.append([message(1, { key: 'k', actor: { kind: 'agent', name: 'river' } })]),
  )
  store.with(journal => {
    const again = journal.append([
      message(2, { key: 'k' }),
      message(3, { key: 'l' }),
      message(4, { key: 'l' }),
    ])
    t.same(again, { seqs: [first.seqs[0], 3, 3], deduped: [true, false, true] })
    t.equal(journal.state.size, 2)
  })
})

t.test('append - a transaction whose keys are known in part is refused (JF-74)', async t => {
  const store = new TestStore(t)
  store.with(journal => {
    journal.append([message(1, { key: 'a' })])
    throwsCode(t, 'record_invalid', () =>
      journal.append([message(2, { key: 'a' }), message(3, { key: 'b' })], { tx: true }),
    )
    const both = [message(2, { key: 'c' }), message(3, { key: 'd' })]
    const receipt = journal.append(both, { tx: true })
    t.same(journal.append(both, { tx: true }), { seqs: receipt.seqs, deduped: [true, true] })
  })
})

t.test('append - what breaks a rule is refused whole and changes nothing', async t => {
  const store = new TestStore(t)
  store.with(journal => {
    const before = statSync(store.segment()).size
    const cyclic: Record<string, unknown> = { schema_version: 1 }
    cyclic['self'] = cyclic
    const bad =
      (more: object): (() => unknown) =>
      () =>
        journal.append([message(1), message(2, more)])
    throwsCode(t, 'record_invalid', bad({ item_id: '' }))
    throwsCode(t, 'record_invalid', bad({ action: 'explode' }))
    throwsCode(t, 'record_invalid', bad({ summary: 7 }))
    throwsCode(t, 'record_invalid', bad({ payload: { content: 'no version' } }))
    throwsCode(t, 'record_invalid', bad({ payload: cyclic }))
    throwsCode(t, 'record_invalid', bad({ payload: { schema_version: 1, n: 1n } }))
    throwsCode(t, 'record_invalid', bad({ action: 'seq_repair' }), 'the journal repairs itself')
    throwsCode(t, 'record_invalid', bad({ action: 'journal_note', item_type: 'journal' }))
    throwsCode(t, 'commit_too_large', () => journal.append(messages(1, 1001)))
    const long = messages(1, 30, { content: 'x'.repeat(60_000) })
    throwsCode(t, 'commit_too_large', () => journal.append(long))
    t.equal(statSync(store.segment()).size, before)
    t.equal(journal.state.size, 0)
    t.same(journal.append([message(1)]).seqs, [2], 'and the journal goes on')
    t.equal(journal.state.get('message', 'river/1')?.entity_rev, 1)
  })
})

t.test('append - a summary is cut, a note of a user is a note', async t => {
  const store = new TestStore(t)
  store.with(journal => {
    journal.append([message(1, { summary: '😀'.repeat(300) })])
    const note = {
      agent: 'kim',
      action: 'journal_note',
      item_type: 'journal',
      item_id: 'store_marker',
      summary: 'here',
    }
    journal.append([{ ...note, payload: { schema_version: 1, kind: 'store_marker', text: 'here' } }])
  })
  t.equal([...(store.lines()[1]?.summary ?? '')].length, 200)
  t.equal(store.notes('store_marker')[0]?.entity_rev, 0)
})

t.test('append - a large payload stands in a blob that was durable first (JF-51)', async t => {
  const store = new TestStore(t)
  const content = 'y'.repeat(70_000)
  store.with(journal => {
    store.fs.calls.length = 0
    journal.append([message(1, {}, { content })])
    const blobSync = store.fs.calls.findIndex(
      ({ name, path }) => name === 'fsyncSync' && path.includes('/blobs/'),
    )
    const write = store.fs.calls.findIndex(
      ({ name, path }) => name === 'writeSync' && path.endsWith('.jsonl'),
    )
    t.ok(blobSync !== -1 && blobSync < write)
    t.equal(journal.state.get('message', 'river/1')?.payload?.['content'], content)
    journal.append([message(2, {}, { content, id: 1 })])
  })
  const [first, second] = store.lines().filter(({ payload_ref }) => payload_ref !== undefined)
  t.same(first?.payload_ref, second?.payload_ref, 'the same payload is the same blob')
  const sha256 = first?.payload_ref?.sha256 ?? ''
  const bytes = readFileSync(join(store.paths.blobs, sha256.slice(0, 2), sha256))
  t.equal(sha256Hex(bytes), sha256)
  t.equal(bytes.toString(), jcs(message(1, {}, { content }).payload))
  store.with(journal => t.equal(journal.state.get('message', 'river/2')?.payload?.['content'], content))
  await store.verified(t)
})

t.test('append - text that is no Unicode is made so, in lines and in blobs (JF-12)', async t => {
  const store = new TestStore(t)
  store.with(journal => {
    journal.append([
      message(1, {}, { content: 'a\ud800b' }),
      message(2, {}, { content: `\udfff${'y'.repeat(70_000)}` }),
    ])
    t.equal(journal.state.get('message', 'river/1')?.payload?.['content'], 'a\ufffdb')
    t.match(journal.state.get('message', 'river/2')?.payload?.['content'], /^\ufffdyyy/)
  })
  await store.verified(t)
})

t.test('append - hostile names collide with nothing (JF-15)', async t => {
  const store = new TestStore(t)
  const ids = ['__proto__', 'constructor', 'a\0b', '2:ab', ' ', '../../etc', 'a\tb']
  store.with(journal => {
    journal.append(ids.flatMap(id => ids.map(type => message(1, { item_type: type, item_id: id }))))
    t.equal(journal.state.size, 49)
    journal.checkpoint()
  })
  store.with(journal => {
    t.equal(journal.state.size, 49)
    for (const id of ids) for (const type of ids) t.equal(journal.state.get(type, id)?.entity_rev, 1)
  })
  await store.verified(t)
})

t.test('submit - batches of one turn share a sync, and a bad one fails alone (JF-83)', async t => {
  const store = new TestStore(t)
  const journal = store.open()
  store.fs.calls.length = 0
  const bad = message(2, { item_id: '' })
  const settled = await Promise.allSettled([
    journal.submit([message(1)]),
    journal.submit([bad]),
    journal.submit(messages(3, 4), { tx: true }),
    journal.submit([message(1, { action: 'checkpoint_ref' })]),
  ])
  t.equal(store.fs.count('fdatasyncSync', '.jsonl'), 1)
  t.same(
    settled.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
  )
  t.match(settled[2], { value: { seqs: [3, 4] } })
  const wide = await Promise.all([1, 2, 3].map(n => journal.submit(messages(n * 1000, n * 1000 + 599))))
  t.same(
    wide.map(({ seqs }) => seqs[0]),
    [5, 605, 1205],
    'what does not fit one commit takes another',
  )
  journal.close()
  await t.rejects(journal.submit([message(9)]), { code: 'journal_closed' })
  await store.verified(t)
})

import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sha256Hex } from '@kim/manifest'
import t from 'tap'
import { run, whole } from '../kit/raw-lines.js'
import { message, messages, TestStore } from '../kit/store.js'

interface Tail {
  readonly row: string
  readonly bytes: string | Uint8Array
  readonly notes: readonly string[]
  readonly live: number
}
/** What follows one message in the only segment. */
const tails: readonly Tail[] = [
  { row: 'T1', bytes: `${whole(3)}\n`, notes: [], live: 2 },
  { row: 'T1 (a blank line)', bytes: ' \r\n', notes: [], live: 1 },
  { row: 'T2', bytes: whole(3), notes: [], live: 2 },
  { row: 'T3 (malformed)', bytes: '{"action":"cr', notes: ['torn_tail_adjudicated'], live: 1 },
  { row: 'T3 (blank)', bytes: '  ', notes: ['torn_tail_adjudicated'], live: 1 },
  { row: 'T3 (future)', bytes: '{"v":3,"seq":3}', notes: ['torn_tail_adjudicated'], live: 1 },
  {
    row: 'T3 (no UTF-8)',
    bytes: Uint8Array.from([0x7b, 0xff, 0xfe]),
    notes: ['torn_tail_adjudicated'],
    live: 1,
  },
  { row: 'T4', bytes: `${run(3, 1, 3)}\n${run(4, 2, 3)}\n`, notes: ['tx_abandoned'], live: 1 },
  { row: 'T5 (goes on)', bytes: `${run(3, 1, 3)}\n${run(4, 2, 3)}`, notes: ['tx_abandoned'], live: 1 },
  { row: 'T5 (completes)', bytes: `${run(3, 1, 2)}\n${run(4, 2, 2)}`, notes: [], live: 3 },
  {
    row: 'T6 (malformed)',
    bytes: `${run(3, 1, 2)}\n{"act`,
    notes: ['torn_tail_adjudicated', 'tx_abandoned'],
    live: 1,
  },
  {
    row: 'T6 (blank)',
    bytes: `${run(3, 1, 2)}\n  `,
    notes: ['torn_tail_adjudicated', 'tx_abandoned'],
    live: 1,
  },
  {
    row: 'T6 (future)',
    bytes: `${run(3, 1, 2)}\n{"v":3,"seq":4}`,
    notes: ['torn_tail_adjudicated', 'tx_abandoned'],
    live: 1,
  },
  {
    row: 'T5 (interrupts)',
    bytes: `${run(3, 1, 2)}\n${whole(4)}`,
    notes: [],
    live: 2,
  },
  { row: 'X8 in the zone', bytes: `${run(3, 1, 2)}\n\n${whole(4)}`, notes: [], live: 2 },
  { row: 'RC-7 (a line that no note names)', bytes: 'junk\n', notes: ['torn_tail_adjudicated'], live: 1 },
  { row: 'RC-7 (a hole)', bytes: '{"v":3,"seq":9}\n', notes: ['seq_repair'], live: 1 },
]
for (const { row, bytes, notes, live } of tails) {
  t.test(`tail - ${row}`, async t => {
    const store = new TestStore(t)
    store.with(journal => journal.append([message(1)]))
    rmSync(store.paths.meta)
    const before = readFileSync(store.segment())
    store.scribble(bytes)
    store.with(journal => {
      t.equal(journal.state.size, live)
      t.equal(journal.isSettled, true)
    })
    const after = readFileSync(store.segment())
    t.ok(after.subarray(0, before.length).equals(before), 'what stood there stands (RC-6)')
    const paid = store.lines().filter(({ item_type }) => item_type === 'journal')
    t.same(
      paid.slice(1).map(({ item_id }) => item_id),
      notes,
    )
    for (const note of store.notes('torn_tail_adjudicated')) {
      const { from, to, sha256 } = note.payload as { from: number; to: number; sha256: string }
      t.equal(sha256Hex(after.subarray(from, to)), sha256, 'JF-36')
      t.equal(after[to], 0x0a)
    }
    const length = statSync(store.segment()).size
    store.with(journal => t.equal(journal.state.size, live))
    t.equal(statSync(store.segment()).size, length, 'a second open owes nothing')
  })
}

/** What a newest segment without a record holds. */
const unborn = [
  { row: 'T7 (empty)', bytes: '', torn: 0 },
  { row: 'T7 (junk)', bytes: 'junk\n', torn: 1 },
  { row: 'T9 (malformed)', bytes: '{"action":"jour', torn: 1 },
  { row: 'T9 (blank)', bytes: ' ', torn: 1 },
  { row: 'T9 (future)', bytes: '{"v":3,"seq":5}', torn: 1 },
] as const
for (const { row, bytes, torn } of unborn) {
  t.test(`tail - ${row} is an unfinished roll, which the open finishes (R2)`, async t => {
    const store = new TestStore(t)
    store.with(journal => journal.append(messages(1, 3)))
    writeFileSync(join(store.paths.events, 'seg-00000005.jsonl'), bytes)
    store.with(journal => journal.append([message(4)]))
    const sealed = { segment: 'seg-00000001.jsonl', first_seq: 1, last_seq: 4 }
    t.match(store.notes('segment_sealed'), [{ seq: bytes.includes('"seq":5') ? 6 : 5, payload: sealed }])
    t.equal(store.notes('torn_tail_adjudicated').length, torn)
    await store.verified(t)
  })
}

for (const [row, rolls] of [
  ['R5', 0],
  ['R6', 1],
] as const) {
  t.test(`roll - ${row} a segment that vanished with a crash is made again (RC-13)`, async t => {
    const store = new TestStore(t)
    store.with(journal => {
      for (let n = 0; n < rolls; n++) journal.roll()
      journal.append(messages(1, 20))
    })
    const full = store.segments().at(-1)
    store.fs.fault = ({ name, path }) =>
      name === 'fsyncSync' && path === store.paths.events && store.segments().length > rolls + 1
        ? 'EIO'
        : undefined
    t.throws(() => store.with(journal => journal.append([message(21)]), { segmentBytes: 3000 }))
    store.fs.heal()
    const vanished = store.segments().at(-1) ?? ''
    t.equal(readFileSync(store.segment(vanished), 'utf8'), '', 'created, and nothing written')
    rmSync(store.segment(vanished))
    store.with(journal => journal.append([message(21)]), { segmentBytes: 3000 })
    t.match(store.notes('segment_sealed')[rolls]?.payload, { segment: full })
    t.equal(store.notes('segment_sealed').length, rolls + 1)
    t.equal(store.segments().at(-1), vanished)
    await store.verified(t)
  })
}

t.test('tail - T8 is a seal that lacks its end: it is the seal', async t => {
  const store = new TestStore(t)
  store.with(journal => {
    journal.append(messages(1, 3))
    journal.roll()
  })
  const bytes = readFileSync(store.segment())
  writeFileSync(store.segment(), bytes.subarray(0, bytes.indexOf(0x0a)))
  store.with(journal => journal.append([message(4)]))
  t.equal(store.notes('segment_sealed').length, 1)
  await store.verified(t)
})

t.test('tail - a store whose genesis was torn is born again', async t => {
  for (const keep of [0, 20, -1]) {
    const store = new TestStore(t)
    const first = store.with(journal => journal.projectId)
    rmSync(store.paths.meta)
    const bytes = readFileSync(store.segment())
    writeFileSync(store.segment(), bytes.subarray(0, keep))
    const second = store.with(journal => journal.projectId)
    t.equal(first === second, keep === -1, 'a genesis that only lacked its end is the genesis')
    t.equal(store.notes('genesis').length, 1)
    await store.verified(t)
  }
})

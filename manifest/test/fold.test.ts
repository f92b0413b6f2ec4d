import {
  type AnomalyKind,
  type EventRecord,
  encodeRecord,
  limits,
  projectionDigest,
  SegmentReader,
} from '@kim/manifest'
import t from 'tap'
import type { FoldOptions } from '../dist/fold.js'
import { EntityFold, type EntityFoldStart } from './kit/entity-fold.js'
import { Feed } from './kit/feed.js'
import { lineOf, record } from './kit/records.js'

type Line = Partial<EventRecord> | string
type Segment = readonly Line[]

const bytesOf = (line: Line): Uint8Array =>
  typeof line === 'string' ? lineOf(line) : Buffer.from(encodeRecord(record(line)).slice(0, -1))

/** Folds segments of lines; a text is a line as it stands, anything else a record of our writer. */
function fold(
  segments: readonly Segment[],
  start: EntityFoldStart = {},
  options: FoldOptions = {},
): EntityFold {
  const result = new EntityFold(start, options)
  feed(segments, result)
  return result
}

function feed(segments: readonly Segment[], result: EntityFold): Feed {
  const lines = new Feed(result)
  for (const segment of segments) {
    lines.beginSegment()
    for (const line of segment) lines.line(bytesOf(line))
  }
  return lines
}

/** The counts above zero. */
const counted = (of: EntityFold): Partial<Record<AnomalyKind, number>> =>
  Object.fromEntries(Object.entries(of.anomalies).filter(([, n]) => n > 0))

const idsOf = (of: EntityFold): string[] => [...of.entities.images()].map(({ item_id }) => item_id)

const payload = { schema_version: 1 }
const upsert = (seq: number, fields: Partial<EventRecord> = {}): Partial<EventRecord> => ({
  seq,
  payload,
  ...fields,
})
const foreign = (fields: object): string =>
  JSON.stringify({ v: 2, action: 'create', item_type: 'message', payload: {}, ...fields })

t.test('fold - an empty journal', async t => {
  const empty = fold([])
  t.same(empty.head, { seq: 0, writer: null })
  t.same(counted(empty), {})
  t.same(empty.activity, [])
  t.same(empty.openHoles, [])
  t.equal(empty.entities.size, 0)
  t.equal(empty.registryAuthoritative, false)
})

t.test('fold - upsert, remove and upsert again, JF-30 JF-32', async t => {
  const one = { item_id: 'x' }
  const gone = fold([[upsert(1, one), { seq: 2, action: 'delete', entity_rev: 2, ...one }]])
  t.equal(gone.entities.size, 0)
  t.same([...gone.entities.removed()], [['message', 'x', 2]])
  const again = fold([
    [
      upsert(1, one),
      { seq: 2, action: 'delete', entity_rev: 2, ...one },
      { seq: 3, action: 'delete', entity_rev: 3, ...one },
      upsert(4, { ...one, entity_rev: 4, agent: 'argus', payload: { ...payload, again: true } }),
    ],
  ])
  t.same(
    { ...again.entities.get('message', 'x') },
    {
      item_type: 'message',
      item_id: 'x',
      agent: 'argus',
      entity_rev: 4,
      payload: { ...payload, again: true },
      payload_ref: undefined,
      seq: 4,
      ts: '2026-06-10T14:03:22.114Z',
    },
  )
  t.same(counted(again), {})
  t.same([...again.entities.removed()], [])
})

t.test('fold - state follows file order, never seq or revision, JF-27', async t => {
  const state = fold([
    [
      foreign({ seq: 1, item_id: 'x', entity_rev: 9, payload: { at: 1 } }),
      foreign({ seq: 5, item_id: 'x', entity_rev: 3, payload: { at: 5 } }),
    ],
    [foreign({ seq: 2, item_id: 'x', entity_rev: 1, payload: { at: 2 } })],
  ])
  t.match(state.entities.get('message', 'x'), { seq: 2, entity_rev: 1, payload: { at: 2 } })
  t.same(state.head, { seq: 5, writer: null })
})

t.test('fold - entities whose names look like structure stay apart, JF-15 OB-31', async t => {
  const names = ['__proto__', 'constructor', 'a/b', 'a', 'b', '', '../x', 'a\u0000b', 'a\tb', '\ud800']
  const lines = names.flatMap((item_type, i) =>
    names.map((item_id, j) =>
      foreign({
        seq: 1 + i * names.length + j,
        item_type: item_type || 'empty',
        item_id: item_id || 'empty',
      }),
    ),
  )
  const state = fold([lines])
  t.equal(state.entities.size, names.length ** 2)
  t.equal(({} as Record<string, unknown>)['payload'], undefined)
})

t.test('fold - malformed and future lines count once each and stop nothing, JF-20 JF-21', async t => {
  const state = fold([[upsert(1), 'garbage', '', ' \r', '{"v":3,"seq":3}', '{"v":3}', '{"v":1}', upsert(4)]])
  t.same(counted(state), { malformed: 2, future: 2, seq_hole: 1 })
  t.same(state.openHoles, [{ from: 2, to: 2 }], 'a future seq counts for continuity')
  t.same(state.head, { seq: 4, writer: 'w_31416-9f3c2a' })
})

t.test('fold - a line too long to be held is malformed', async t => {
  const state = new EntityFold()
  const reader = new SegmentReader(state)
  reader.push(Buffer.alloc(limits.lineReadBytesMax, 0x78))
  reader.push(Buffer.from('xx\n'))
  t.same(counted(state), { malformed: 1 })
})

t.test('fold - a future line is not the head, and its seq is not a record, JF-48 JF-50', async t => {
  const state = fold([[upsert(1), '{"v":3,"seq":9}', upsert(9, { item_id: 'x' })]])
  t.equal(state.head.seq, 9)
  t.same(counted(state), { future: 1, seq_hole: 1, seq_regressed: 1 })
})

t.test('duplicates - rule 1: the same line again in its segment is nothing, JF-46', async t => {
  const removed = { seq: 2, action: 'delete', item_id: 'river/1', entity_rev: 2 }
  const state = fold([[upsert(1, { event: 'new' }), removed, upsert(1, { event: 'new' })]])
  t.same(counted(state), { duplicate_line: 1 })
  t.equal(state.entities.size, 0, 'it is not applied')
  t.equal(state.activity.length, 1, 'it is no activity')
  const first = fold([[upsert(1), upsert(1), upsert(1)]])
  t.same(counted(first), { duplicate_line: 2 })
  t.match(fold([[`${foreign({ seq: 1 })}`, `${foreign({ seq: 1 })}\r`]]).anomalies, {
    duplicate_line: 0,
    duplicate_same_writer: 1,
  })
})

t.test('duplicates - rule 1 looks in one segment only, JF-46', async t => {
  const state = fold([[upsert(1), upsert(2)], [upsert(1)]])
  t.same(counted(state), { duplicate_same_writer: 1 })
  const thrice = fold([
    [upsert(1), upsert(2)],
    [upsert(1), upsert(1)],
  ])
  t.same(counted(thrice), { duplicate_same_writer: 1, duplicate_line: 1 }, 'a stray is an earlier line too')
})

t.test('duplicates - rule 2: same seq and writer, later wins, JF-46', async t => {
  const state = fold([
    [upsert(1, { item_id: 'x' }), upsert(1, { item_id: 'x', payload: { ...payload, later: 1 } })],
  ])
  t.same(counted(state), { duplicate_same_writer: 1 })
  t.match(state.entities.get('message', 'x'), { payload: { later: 1 } })
  const nameless = fold([[foreign({ seq: 1, item_id: 'x' }), foreign({ seq: 1, item_id: 'y' })]])
  t.same(counted(nameless), { duplicate_same_writer: 1 }, 'two records without a writer have the same one')
})

t.test('duplicates - rules 3 and 4: another writer, on one revision or not, JF-46', async t => {
  const other = { writer: 'w_2-b' }
  const twice = (first: Partial<EventRecord>, second: Partial<EventRecord>): object =>
    counted(fold([[upsert(1, first), upsert(1, { ...other, ...second })]]))
  t.same(twice({ item_id: 'x' }, { item_id: 'y' }), { duplicate_other_writer: 1 })
  t.same(twice({ item_id: 'x' }, { item_id: 'x' }), { duplicate_overwrite: 1 })
  t.same(twice({ item_id: 'x' }, { item_id: 'x', action: 'delete' }), { duplicate_overwrite: 1 })
  t.same(twice({ item_id: 'x' }, { item_id: 'x', entity_rev: 2 }), { duplicate_other_writer: 1 })
  t.same(twice({ item_id: 'x' }, { item_id: 'x', item_type: 'alert' }), { duplicate_other_writer: 1 })
  const noted = { action: 'journal_note', item_type: 'journal', item_id: 'genesis', entity_rev: 0 }
  t.same(twice(noted, noted), { duplicate_other_writer: 1 }, 'a note changes no entity')
  const revless = [
    foreign({ seq: 1, item_id: 'x', writer: 'a' }),
    foreign({ seq: 1, item_id: 'x', writer: 'b' }),
  ]
  t.same(counted(fold([revless])), { duplicate_other_writer: 1 }, 'absent revisions are not equal')
  const third = fold([
    [
      upsert(1, { item_id: 'x' }),
      upsert(1, { item_id: 'y', ...other }),
      upsert(1, { item_id: 'y', writer: 'w_3-c' }),
    ],
  ])
  t.same(
    counted(third),
    { duplicate_other_writer: 1, duplicate_overwrite: 1 },
    'strays are earlier records too',
  )
})

t.test('revisions - a jump of more than one counts, JF-49', async t => {
  const revs = (...list: (number | undefined)[]): object =>
    counted(
      fold([
        list.map((entity_rev, i) =>
          foreign({ seq: i + 1, item_id: 'x', ...(entity_rev !== undefined && { entity_rev }) }),
        ),
      ]),
    )
  t.same(revs(1, 2, 3), {})
  t.same(revs(7), {}, 'nothing known before')
  t.same(revs(1, 3), { entity_rev_jump: 1 })
  t.same(revs(1, 3, 5, 6), { entity_rev_jump: 2 })
  t.same(revs(3, 1, 2), {}, 'going back is no jump')
  t.same(revs(1, undefined, 2), {}, 'a record without one keeps what is known')
  t.same(revs(1, undefined, undefined, 3), { entity_rev_jump: 1 })
  t.same(revs(undefined, 9), {})
  const tombstone = { seq: 2, action: 'delete', item_id: 'x', entity_rev: 2 }
  t.same(
    counted(fold([[upsert(1, { item_id: 'x' }), tombstone, upsert(3, { item_id: 'x', entity_rev: 4 })]])),
    {
      entity_rev_jump: 1,
    },
  )
  const nameless = [
    foreign({ seq: 1, item_id: 'x', entity_rev: 4 }),
    foreign({ seq: 2, item_id: 'x', action: 'delete', payload: undefined }),
  ]
  t.same(
    counted(fold([[...nameless, foreign({ seq: 3, item_id: 'x', entity_rev: 6 })]])),
    { entity_rev_jump: 1 },
    'a tombstone without a revision keeps what is known',
  )
  const activity = { seq: 2, action: 'run_progress', item_id: 'x', entity_rev: 9 }
  t.same(counted(fold([[upsert(1, { item_id: 'x' }), activity]])), {}, 'activity has no state effect')
})

t.test('revisions - of forgotten types end with a delete', async t => {
  const lines = [upsert(1), { seq: 2, action: 'delete', item_id: 'river/1', entity_rev: 2 }]
  const forgetful = fold([lines], {}, { forgets: type => type === 'message' })
  t.same([...forgetful.entities.removed()], [])
  t.same([...fold([lines]).entities.removed()], [['message', 'river/1', 2]])
})

t.test('continuity - holes, repairs and regressions, JF-47 JF-48', async t => {
  const repair = (seq: number, from: number, to: number): Partial<EventRecord> => ({
    seq,
    action: 'seq_repair',
    agent: 'kim',
    item_type: 'journal',
    item_id: 'seq_repair',
    entity_rev: 0,
    payload: { ...payload, from, to, reason: 'meta' },
  })
  t.same(fold([[upsert(1), upsert(4), upsert(9)]]).openHoles, [
    { from: 2, to: 3 },
    { from: 5, to: 8 },
  ])
  t.same(counted(fold([[upsert(3)]])), { seq_hole: 1 }, 'history begins with 1')
  t.same(counted(fold([[upsert(1), upsert(4), repair(5, 2, 3)]])), {})
  t.same(counted(fold([[upsert(1), repair(2, 4, 5), upsert(3), upsert(6)]])), {}, 'a repair may stand before')
  t.same(counted(fold([[upsert(1), upsert(9), repair(10, 2, 4), repair(11, 5, 8)]])), {}, 'two cover one')
  t.same(counted(fold([[upsert(1), upsert(9), repair(10, 5, 8), repair(11, 1, 5)]])), {}, 'in any order')
  t.same(
    counted(fold([[upsert(1), upsert(9), repair(10, 3, 6)]])),
    { seq_hole: 1 },
    'part of it is not enough',
  )
  t.same(counted(fold([[upsert(1), upsert(9), repair(10, 8, 2)]])), { seq_hole: 1 }, 'backwards is no range')
  const regressed = fold([[upsert(1), upsert(5), upsert(3), upsert(6)]])
  t.same(counted(regressed), { seq_hole: 1, seq_regressed: 1 }, 'a hole stays one when a number comes late')
  t.same(idsOf(regressed), ['river/1', 'river/5', 'river/3', 'river/6'])
})

t.test('continuity - history that does not begin at 1, OB-8', async t => {
  t.same(counted(fold([[upsert(101)]], { after: 100 })), {})
  t.same(counted(fold([[upsert(103)]], { after: 100 })), { seq_hole: 1 })
  t.same(counted(fold([[upsert(99)]], { after: 100 })), { seq_regressed: 1 })
})

t.test('transactions - apply together or not at all, JF-40 JF-41', async t => {
  const tx = (seq: number, i: number, n: number): Partial<EventRecord> =>
    upsert(seq, { tx: { id: 'x', i, n } })
  const whole = fold([[upsert(1), tx(2, 1, 2), '', tx(3, 2, 2), upsert(4)]])
  t.same(counted(whole), {}, 'a blank line does not break it')
  t.equal(whole.entities.size, 4)
  const broken = fold([[upsert(1), tx(2, 1, 3), tx(3, 2, 3), upsert(4, { event: 'new' })]])
  t.same(counted(broken), { tx_incomplete: 2 })
  t.same(idsOf(broken), ['river/1', 'river/4'])
  const noise = fold([[tx(1, 1, 2), 'garbage', tx(2, 2, 2)]])
  t.same(counted(noise), { tx_incomplete: 2, malformed: 1 })
  t.equal(noise.head.seq, 2, 'their seqs count for the head')
  const rolled = fold([[tx(1, 1, 2)], [tx(2, 2, 2)]])
  t.same(counted(rolled), { tx_incomplete: 2 }, 'a transaction does not cross segments')
  const malformedTx = fold([[foreign({ seq: 1, item_id: 'x', tx: { id: 'x', i: 1, n: 1001 } })]])
  t.same(counted(malformedTx), { tx_incomplete: 1 }, 'of 1001 records')
  t.same(malformedTx.head, { seq: 1, writer: null })
})

t.test(
  'transactions - incomplete ones are no activity, no duplicate and never handed over, JF-41',
  async t => {
    const seen: number[] = []
    const lost = upsert(1, { event: 'new', tx: { id: 'x', i: 1, n: 2 } })
    const state = fold(
      [[lost, upsert(2), upsert(1, { item_id: 'y' })]],
      {},
      { onRecord: ({ seq }) => seen.push(seq) },
    )
    t.same(counted(state), { tx_incomplete: 1, seq_regressed: 1 })
    t.same(state.activity, [])
    t.same(seen, [2, 1])
  },
)

t.test('transactions - an open end waits: no effect, no count, not the head, JF-42', async t => {
  const state = new EntityFold()
  const lines = feed([[upsert(1), upsert(2, { tx: { id: 'x', i: 1, n: 2 }, event: 'new' })]], state)
  t.same(counted(state), {})
  t.equal(state.head.seq, 1)
  t.equal(lines.pending, 1)
  t.same(idsOf(state), ['river/1'])
  lines.line(bytesOf(upsert(3, { tx: { id: 'x', i: 2, n: 2 } })))
  t.equal(lines.pending, 0)
  t.equal(state.head.seq, 3)
  t.equal(state.entities.size, 3)
  t.same(
    state.activity.map(({ seq }) => seq),
    [2],
  )
})

t.test('transactions - wait without holding on to the bytes they came in', async t => {
  const state = new EntityFold()
  const reader = new SegmentReader(state)
  const buffer = Buffer.alloc(4096)
  const feed = (line: Line): void => {
    const bytes = bytesOf(line)
    buffer.fill(0x0a).set(bytes)
    reader.push(buffer.subarray(0, bytes.length + 1))
  }
  const tx = (seq: number, i: number): Partial<EventRecord> => upsert(seq, { tx: { id: 'x', i, n: 2 } })
  for (const line of [tx(1, 1), tx(2, 2), upsert(3), tx(1, 1), tx(2, 2)]) feed(line)
  t.same(counted(state), { duplicate_line: 2 })
})

t.test('references - defects count on records that are settled, OB-28', async t => {
  const bad = { sha256: 'x', bytes: 1 }
  const invalid = (seq: number, fields: object = {}): string =>
    JSON.stringify({ v: 2, seq, action: 'create', item_type: 'm', item_id: 'x', payload_ref: bad, ...fields })
  t.same(counted(fold([[invalid(1), invalid(2, { payload: {} })]])), {
    payload_ref_invalid: 1,
    payload_ref_ignored: 1,
  })
  t.same(counted(fold([[invalid(1), invalid(1)]])), { payload_ref_invalid: 1, duplicate_line: 1 })
  t.same(counted(fold([[invalid(1, { tx: { id: 'x', i: 1, n: 2 } })]])), {}, 'pending')
  t.same(counted(fold([[invalid(1, { tx: { id: 'x', i: 1, n: 2 } })], []])), {
    payload_ref_invalid: 1,
    tx_incomplete: 1,
  })
  const ref = { sha256: 'ab'.repeat(32), bytes: 70_000 }
  const state = fold([
    [
      upsert(1, { item_id: 'x' }),
      { seq: 2, item_id: 'x', entity_rev: 2, action: 'update', payload_ref: ref },
    ],
  ])
  t.match(state.entities.get('message', 'x'), { payload: undefined, payload_ref: ref })
})

t.test('activity - what changes no state and what carries an event, newest 500, JF-34', async t => {
  const lines: Line[] = Array.from({ length: 501 }, (_, i) => ({ seq: i + 1, action: 'run_progress' }))
  const seqs = fold([
    [...lines, upsert(502), upsert(503, { event: 'new' }), { seq: 504, action: 'update' }],
  ]).activity.map(({ seq }) => seq)
  t.equal(seqs.length, 500)
  t.same([seqs[0], ...seqs.slice(-3)], [4, 501, 503, 504])
})

t.test('registry - a genesis makes it authoritative, and it stays so, OB-36', async t => {
  const note = (kind: string): Partial<EventRecord> => ({
    action: 'journal_note',
    agent: 'kim',
    item_type: 'journal',
    item_id: kind,
    payload: { ...payload, kind },
  })
  t.equal(fold([[note('genesis')]]).registryAuthoritative, false)
  t.equal(fold([[note('registry_genesis'), { ...note('genesis'), seq: 2 }]]).registryAuthoritative, true)
  t.equal(fold([[{ ...note('registry_genesis'), tx: { id: 'x', i: 1, n: 2 } }]]).registryAuthoritative, false)
  t.equal(fold([], { registryAuthoritative: true }).registryAuthoritative, true)
})

t.test('head - the highest seq, and of several with it the last one, OB-40', async t => {
  const state = fold([
    [upsert(1), upsert(3, { writer: 'w_1-a' }), upsert(2), upsert(3, { writer: 'w_2-b', item_id: 'y' })],
  ])
  t.same(state.head, { seq: 3, writer: 'w_2-b' })
})

t.test('fold - begins with a checkpoint and reaches what a forward reader has, JF-69', async t => {
  const history: Segment[] = [
    [upsert(1), upsert(2, { item_id: 'x', item_type: 'alert' })],
    [{ seq: 3, action: 'delete', item_id: 'x', item_type: 'alert', entity_rev: 2 }, upsert(4)],
  ]
  const tail: Segment[] = [
    [upsert(5, { item_id: 'x', item_type: 'alert', entity_rev: 3 }), upsert(6, { entity_rev: 9 })],
  ]
  const whole = fold([...history, ...tail])
  const base = fold(history)
  const resumed = fold(tail, {
    head: base.head,
    entities: base.entities.images(),
    revisions: base.entities.removed(),
    registryAuthoritative: base.registryAuthoritative,
  })
  const digestOf = (of: EntityFold): string =>
    projectionDigest(
      [...of.entities.images()].map(({ item_type, item_id, entity_rev }) => ({
        item_type,
        item_id,
        entity_rev,
        hash: '',
      })),
    )
  t.equal(digestOf(resumed), digestOf(whole))
  t.same(resumed.head, whole.head)
  t.same(counted(resumed), counted(whole))
  const jumped = fold([[upsert(5, { item_id: 'x', item_type: 'alert', entity_rev: 4 })]], {
    head: base.head,
    revisions: [['alert', 'x', 2]],
  })
  t.same(counted(jumped), { entity_rev_jump: 1 }, 'a checkpoint knows revisions')
  const both = fold([], { entities: base.entities.images(), revisions: [['message', 'river/1', 7]] })
  t.equal(both.entities.size, base.entities.size, 'an entity that it holds is live')
})

t.test('fold - counts what only its caller can see', async t => {
  const state = new EntityFold()
  state.count('blob_missing')
  t.same(counted(state), { blob_missing: 1 })
})

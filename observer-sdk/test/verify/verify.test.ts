import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { checkpointName, type Entity, encodeRecord, segmentName, sha256Hex } from '@kim/manifest'
import { findingKinds } from '@kim/observer-sdk/internal'
import { type FindingKind, type JournalVerdict, verifyJournal } from '@kim/observer-sdk/verify'
import t from 'tap'
import { type CheckpointDraft, JournalMaker, projectId, type Tampering } from './journal-maker.js'

/** Findings as `kind: count`. */
const counts = ({ findings }: JournalVerdict): Partial<Record<FindingKind, number>> =>
  Object.fromEntries(Object.entries(findings).map(([kind, { count }]) => [kind, count]))

/** Every kind that some case of this file brought about. */
const seen = new Set<string>()

interface Around {
  /** Changes the directory after it was written. */
  readonly damage?: (dir: string) => void
  readonly begin?: () => JournalMaker
}

/** Changes the first entity of a checkpoint. */
const withFirst =
  (change: Partial<Entity>) =>
  ({ entities: [first, ...others] }: CheckpointDraft): Tampering => ({
    entities: [{ ...first!, ...change }, ...others],
  })

/** A journal with three segments, a deleted entity, keys and a checkpoint of the first. */
function ordinary(journal: JournalMaker): void {
  journal.add({ event: 'new' })
  journal.add({ item_type: 'alert', item_id: 'river/unreachable' })
  journal.add({ item_type: 'alert', item_id: 'river/unreachable', action: 'delete' })
  journal.add({ item_id: 'river/1' })
  journal.add({ item_id: 'river/1', action: 'update', key: 'k1', actor: { kind: 'operator', name: 'loom' } })
  journal.run(3)
  journal.roll()
  journal.checkpoint()
  journal.add({ item_id: 'river/1', action: 'update' })
  journal.add({ action: 'session_start', item_type: 'session', item_id: 's1', event: 'armed' })
  journal.roll()
}

/** One journal, what `verify` exits with, and the findings it counts. */
function judged(
  title: string,
  exit: JournalVerdict['exit'],
  finds: Partial<Record<FindingKind, number>>,
  make: (journal: JournalMaker) => void,
  { damage, begin }: Around = {},
): void {
  t.test(`verify - ${title}`, async t => {
    const journal = begin?.() ?? new JournalMaker()
    make(journal)
    const dir = journal.write(join(t.testdir(), 'events'))
    damage?.(dir)
    const verdict = await verifyJournal({ eventsDir: dir })
    t.strictSame(counts(verdict), finds, JSON.stringify(verdict.findings))
    t.equal(verdict.exit, exit)
    for (const [kind, finding] of Object.entries(verdict.findings)) {
      seen.add(kind)
      const isForeign = 'foreign' in finds && kind !== 'unreadable'
      t.equal(
        finding.weight,
        isForeign ? 0 : findingKinds[kind as FindingKind].weight,
        `${kind} weighs as the table says`,
      )
      t.ok(
        finding.examples.length > 0 && finding.examples.every(({ detail }) => detail !== ''),
        `${kind} is shown`,
      )
    }
  })
}

judged('an ordinary journal', 0, {}, ordinary)
judged('an empty one', 0, {}, () => {}, { begin: () => new JournalMaker({ native: false }) })
judged('a checkpoint after everything a journal may hold', 0, {}, journal => {
  journal.note('registry_genesis', { mode: 'all', personas: ['river'], missing: [] })
  journal.capabilities = ['registry_genesis']
  ordinary(journal)
  journal.add({ payload_ref: journal.blob({ schema_version: 1, large: 'x'.repeat(70_000) }) })
  journal.add({ item_type: '__proto__', item_id: 'constructor\u0000\t\u{1f600}' })
  journal.add({ item_type: 'tab', item_id: 'a\tb' })
  journal.note('producer_started', { version: '1', pid: 1, node: 'v20', platform: 'linux' })
  journal.note('producer_stopped', { reason: 'asked' })
  journal.note('store_marker', { text: 'here' })
  journal.roll()
  journal.checkpoint()
  journal.pass(31)
  journal.add({ key: 'k1' })
  journal.roll()
  journal.keys.shift()
  journal.checkpoint()
})
judged('a large state, so that payloads are reduced to hashes on the way', 0, {}, journal => {
  for (let i = 0; i < 600; i += 1) {
    journal.add({
      item_id: `river/${i % 300}`,
      payload: { schema_version: 1, body: `${i}`.repeat(15_000) },
    })
    if (i === 299) journal.roll()
  }
  journal.roll()
  journal.checkpoint()
})
judged('archived segments, plain and compressed, and archived checkpoints', 0, {}, journal => {
  ordinary(journal)
  journal.add()
  journal.roll()
  journal.park(2)
  journal.park(journal.active.number, true)
  const name = [...journal.files.keys()].find(file => file.startsWith('checkpoints')) as string
  journal.files.set(name.replace('checkpoints', 'archive'), journal.files.get(name) as Buffer)
  journal.files.delete(name)
})

// Framing
judged('an unterminated tail', 0, { unterminated_tail: 1 }, journal => journal.line('{"action":"cre'))
judged('a terminated line that is no record', 6, { malformed_line: 1 }, journal =>
  journal.line('{"action":"cre\n'),
)
judged('a torn line that a note names (OB-66)', 0, { adjudicated: 2 }, journal => {
  for (const torn of ['{"action":"cre', '{"action":"cre']) {
    const from = journal.active.text.length
    journal.line(`${torn}\n`)
    const segment = segmentName(1)
    const to = from + torn.length
    journal.note('torn_tail_adjudicated', { segment, from, to, sha256: sha256Hex(torn) })
  }
})
judged(
  'B11 a torn line that a note of brainclaw names (OB-66)',
  0,
  { foreign: 1, adjudicated: 1 },
  journal => {
    const torn = '{"v":2,"se'
    journal.line(`${torn}\n`)
    const place = { segment: segmentName(1), byte_start: 0, byte_end: torn.length, sha256: sha256Hex(torn) }
    const payload = { kind: 'torn_tail_adjudicated', ...place }
    const note = { v: 2, seq: 1, agent: 'system', action: 'journal_note', item_type: 'journal', payload }
    journal.line(`${JSON.stringify(note)}\n`)
  },
  { begin: () => new JournalMaker({ native: false }) },
)
judged('a torn line that a note names wrongly', 6, { malformed_line: 1 }, journal => {
  const from = journal.active.text.length
  journal.line('{"action":"cre\n')
  const [segment, to, sha256] = [segmentName(1), from + 14, sha256Hex('another')]
  journal.note('torn_tail_adjudicated', { segment, from, to, sha256 })
})
judged('a line of a later version', 0, { future: 1 }, journal => {
  journal.line(`{"v":3,"seq":${journal.next}}\n`)
  journal.next += 1
  journal.add()
})
judged('a last line without an end in a segment that has a successor', 6, { malformed_line: 1 }, journal => {
  journal.line('{"action":"cre')
  journal.roll()
})
judged('blank lines', 0, {}, journal => {
  journal.line(' \t\r\n\n')
  journal.add()
})

// Continuity
judged('numbers that no record has', 5, { seq_hole: 1 }, journal => {
  journal.next += 3
  journal.add()
})
judged('numbers that a repair explains (OB-66)', 0, { hole_repaired: 1 }, journal => {
  const from = journal.next
  journal.next += 3
  journal.note('seq_repair', { from, to: from + 2, reason: 'lost' })
})
judged('numbers that a repair explains in part', 5, { seq_hole: 1 }, journal => {
  const from = journal.next
  journal.next += 3
  journal.note('seq_repair', { from: from + 1, to: from + 2, reason: 'lost' })
})
judged('a number that comes late', 6, { seq_hole: 1, seq_regressed: 1 }, journal => {
  const late = journal.build({})
  journal.next += 1
  journal.add()
  const { next } = journal
  journal.line(encodeRecord(late), late.seq)
  journal.apply(late)
  journal.next = next
})
judged('a line twice: the second has no effect', 6, { duplicate_seq: 1 }, journal => {
  const first = journal.add({ item_type: 'plan', item_id: 'p' })
  journal.add({ item_type: 'plan', item_id: 'p' })
  journal.line(encodeRecord(first))
  journal.active.last = first.seq
})
judged('a number twice', 6, { duplicate_seq: 1, revision: 1 }, journal => {
  const first = journal.add()
  journal.next = first.seq
  journal.add({ ...first, summary: 'again' })
})
judged('a missing segment in the middle', 5, { seq_hole: 1, checkpoint_orphan: 1 }, journal => {
  ordinary(journal)
  journal.add()
  journal.segments.splice(1, 1)
})

// Revisions
judged('a revision that skips', 6, { revision: 1 }, journal => {
  journal.add({ item_id: 'a' })
  journal.add({ item_id: 'a', entity_rev: 3 })
})
judged('a revision that begins above 1', 6, { revision: 1 }, journal => void journal.add({ entity_rev: 2 }))
judged(
  'a revision that stands still, also where numbers are missing',
  6,
  { revision: 1, seq_hole: 1 },
  journal => {
    journal.add({ item_id: 'a' })
    journal.next += 1
    journal.add({ item_id: 'a', entity_rev: 1 })
  },
)
judged('a revision that begins again after a delete', 6, { revision: 1 }, journal => {
  journal.add({ item_id: 'a' })
  journal.add({ item_id: 'a', action: 'delete' })
  journal.add({ item_id: 'a', entity_rev: 1 })
})
judged('a revision that a hole explains (OB-66)', 5, { seq_hole: 1 }, journal => {
  journal.add({ item_id: 'a' })
  journal.next += 1
  journal.add({ item_id: 'a', entity_rev: 3 })
})

// Schema
for (const [what, change, besides] of [
  ['an unknown field', line => line.replace('"v":2', '"u":1,"v":2')],
  ['keys out of order', line => line.replace(/^\{(.*),"v":2/, '{"v":2,$1')],
  ['white space', line => line.replace('"v":2', '"v": 2')],
  ['a payload without schema_version', line => line.replace('"schema_version":1', '"schema":1')],
  ['a ts without milliseconds', line => line.replace('.000Z', 'Z')],
  ['a writer of another form', line => line.replace('w_1-abc', 'someone')],
  ['no agent', line => line.replace('"agent":"river",', '')],
  ['a revision of 0', line => line.replace('"entity_rev":1', '"entity_rev":0'), 'revision'],
  [
    'a clock that runs backwards',
    line => line.replace('"entity_rev"', '"clock":{"mono_ms":-1},"entity_rev"'),
  ],
  ['a payload_ref beside a payload', line => line.replace('"seq"', '"payload_ref":{},"seq"')],
  ['a record that poses as the journal', line => line.replace('"message"', '"journal"')],
] satisfies [string, (line: string) => string, FindingKind?][])
  judged(`schema, ${what}`, 6, { schema: 1, ...(besides === undefined ? {} : { [besides]: 1 }) }, journal => {
    const record = journal.build({})
    const line = encodeRecord(record)
    if (change(line) === line) throw new Error(what)
    journal.line(change(line), record.seq)
  })

judged('schema, notes that lack a field, have another name or a revision', 6, { schema: 5 }, journal => {
  journal.note('producer_stopped', {})
  journal.note('store_marker', { text: 'x' }, { item_id: 'marker' })
  journal.note('store_marker', { text: 'x' }, { entity_rev: 1 })
  journal.note('tx_abandoned', { tx_id: 'x' })
  journal.note('checkpoint_ref', { file: 'x', sha256: sha256Hex(''), bytes: 0, head_seq: 1, entities: 0 })
})
judged('schema, note kinds and payload versions of later times are let be', 0, {}, journal => {
  journal.note('of_later_times', { more: true })
  journal.add({
    action: 'journal_note',
    agent: 'kim',
    item_type: 'journal',
    item_id: 'producer_stopped',
    payload: { kind: 'producer_stopped', schema_version: 2 },
  })
})
judged('schema, a key that was used already', 6, { schema: 1 }, journal => {
  journal.add({ key: 'k' })
  journal.add({ key: 'k' })
})

// Runs
judged('a run that the newest segment ends inside', 0, { tx_open_tail: 1 }, journal => journal.run(3, 2))
judged('a run that a note names as abandoned (OB-66)', 0, { tx_abandoned: 1 }, journal => {
  const first_seq = journal.next
  journal.run(3, 2, 'r')
  const fields = {
    tx_id: 'r',
    segment: segmentName(1),
    first_seq,
    last_seq: first_seq + 1,
    records: 2,
    n: 3,
  }
  journal.note('tx_abandoned', fields)
  journal.run(2)
})
judged('a run that never became complete', 6, { tx_incomplete: 1 }, journal => {
  journal.run(3, 2)
  journal.add()
})
judged('runs that follow each other, incomplete both, and a stray', 6, { tx_incomplete: 3 }, journal => {
  journal.run(3, 2)
  journal.run(3, 1)
  journal.add({ tx: { id: 'stray', i: 2, n: 2 } })
})
judged('a run at the end of a segment that has a successor', 6, { tx_incomplete: 1 }, journal => {
  journal.run(3, 2)
  journal.roll()
})

// The chain
for (const [what, seal, kind] of [
  ['another hash', { sha256: sha256Hex('x') }, 'chain_broken'],
  ['another length', { bytes: 1 }, 'chain_broken'],
  ['another first seq', { first_seq: 2 }, 'chain_broken'],
  ['another last seq', { last_seq: 2 }, 'chain_broken'],
  ['another project', { project_id: projectId.replaceAll('0', '1') }, 'chain_broken'],
  ['a segment that does not stand before', { segment: segmentName(77) }, 'chain_broken'],
  ['no hash', { sha256: 'none' }, 'schema'],
] as const)
  judged(`a seal with ${what}`, 6, { [kind]: 1 }, journal => {
    journal.add()
    journal.add()
    journal.roll(seal)
  })

judged('a segment without a seal of the one before (JF-58)', 6, { seal_missing: 1 }, journal => {
  journal.add()
  journal.roll(false)
  journal.add()
})
judged('an unfinished roll', 0, {}, journal => {
  journal.add()
  journal.roll(false)
})
judged('a seal in the middle of a segment', 6, { chain_broken: 1 }, journal => {
  journal.roll()
  journal.note('segment_sealed', journal.sealOf(journal.segments[0]))
})
judged(
  'a segment that begins below its name',
  6,
  { chain_broken: 1 },
  journal => {
    journal.add()
    journal.roll()
  },
  {
    damage: dir => {
      renameSync(join(dir, segmentName(3)), join(dir, segmentName(4)))
    },
  },
)

// Redactions
judged('a redaction (OB-66, JF-59)', 0, { redacted: 2 }, journal => {
  journal.add({ item_id: 'a' })
  journal.roll()
  journal.checkpoint()
  journal.add({ item_id: 'a', payload_ref: journal.blob({ schema_version: 1, large: 'x' }) })
  journal.add({ item_id: 'b' })
  journal.roll()
  journal.redact('message', 'a')
  for (const name of journal.files.keys()) journal.files.delete(name)
  journal.checkpoint()
})
judged('a redaction that did not come to its renames', 0, { redaction_pending: 1 }, journal => {
  journal.add({ item_id: 'a' })
  journal.roll()
  journal.redact('message', 'a', false)
})
judged(
  'a redaction that did not come to its checkpoint: the old one still has the content',
  0,
  { redacted: 1, redaction_pending: 1 },
  journal => {
    journal.add({ item_id: 'a' })
    journal.roll()
    journal.checkpoint()
    journal.redact('message', 'a')
  },
)
judged('two redactions, and a third that is pending', 0, { redacted: 1, redaction_pending: 1 }, journal => {
  journal.add({ item_id: 'a' })
  journal.add({ item_id: 'b' })
  journal.roll()
  journal.redact('message', 'a')
  journal.roll()
  journal.redact('message', 'b')
  journal.add({ item_id: 'c' })
  journal.roll()
  journal.redact('message', 'c', false)
})
judged(
  'content that changed without a redaction',
  6,
  { chain_broken: 1, checkpoint_mismatch: 1 },
  journal => {
    journal.add({ item_id: 'a' })
    journal.roll()
    journal.checkpoint()
    const [first] = journal.segments
    if (first !== undefined) first.text = first.text.replace('"n":2', '"n":3')
  },
)
judged(
  'content that changed as a redaction would, without its note',
  6,
  { chain_broken: 1, checkpoint_mismatch: 1 },
  journal => {
    journal.add({ item_id: 'a' })
    journal.roll()
    journal.checkpoint()
    const [first] = journal.segments
    if (first !== undefined) first.text = first.text.replace('"n":2', '"redacted":true')
  },
)

// Checkpoints
for (const [what, change, times = 1] of [
  [
    'an entity that the journal does not have',
    d => ({
      entities: [...d.entities, { item_type: 'z', item_id: 'z', seq: 2, entity_rev: 1, payload: {} }],
    }),
  ],
  ['an entity missing', d => ({ entities: d.entities.slice(1) })],
  ['another payload', withFirst({ payload: { schema_version: 1 } })],
  ['another revision', withFirst({ entity_rev: 9 })],
  ['another seq', withFirst({ seq: 1 })],
  ['another agent', withFirst({ agent: 'argus' })],
  ['another ts', withFirst({ ts: '2026-01-01T00:00:00.000Z' })],
  ['entities in another order', d => ({ entities: d.entities.toReversed() })],
  ['an entity twice', d => ({ entities: [d.entities[0]!, ...d.entities] })],
  ['no revision of a deleted entity', () => ({ header: { revisions: [] } })],
  ['another revision of a deleted entity', () => ({ header: { revisions: [['alert', 'gone', 7]] } })],
  ['a capability that was not announced', () => ({ header: { capabilities: ['registry_genesis'] } })],
  ['a key that no record has', d => ({ header: { keys: [['other', 2, d.header.keys[0]![2]]] } }), 2],
  ['no keys', () => ({ header: { keys: [] } })],
  ['another last segment', d => ({ header: { chain: { ...d.header.chain, segment: segmentName(9) } } })],
  ['another chain hash', d => ({ header: { chain: { ...d.header.chain, sha256: sha256Hex('') } } })],
  ['another head writer', () => ({ header: { head_writer: 'w_2-abc' } })],
] satisfies [string, (draft: CheckpointDraft) => Tampering, number?][])
  judged(`a checkpoint with ${what}`, 6, { checkpoint_mismatch: times }, journal => {
    journal.add({ item_type: 'alert', item_id: 'gone' })
    journal.add({ item_type: 'alert', item_id: 'gone', action: 'delete' })
    journal.add({ key: 'k' })
    journal.add()
    journal.roll()
    journal.checkpoint(change)
  })

for (const [what, header, ref] of [
  ['other bytes than its ref', {}, { sha256: sha256Hex('') }],
  ['another number of entities than its ref', {}, { entities: 7 }],
  ['another number of entities than its header', { entity_count: 7 }, { entities: 7 }],
  ['another head than its name', { head_seq: 1 }, {}],
  ['another project', { project_id: projectId.replaceAll('0', '1') }, {}],
] as const)
  judged(`a checkpoint with ${what}`, 6, { checkpoint_corrupt: 1 }, journal => {
    journal.add()
    journal.roll()
    journal.checkpoint(() => ({ header }), ref)
  })

judged('a checkpoint file that is cut', 6, { checkpoint_corrupt: 1 }, journal => {
  journal.add()
  journal.roll()
  const file = join('checkpoints', journal.checkpoint())
  journal.files.set(file, journal.files.get(file)!.subarray(0, -3))
})
judged('a checkpoint without a ref, whatever it holds', 0, { checkpoint_orphan: 2 }, journal => {
  journal.add()
  journal.roll()
  journal.checkpoint(({ entities }) => ({ entities: entities.slice(1) }), false)
  journal.files.set(join('checkpoints', checkpointName(1)), Buffer.from('{}'))
})
judged('a meta.json that tells of more than there is', 0, { meta_ahead: 1 }, journal => {
  journal.add()
  const meta = {
    active_segment: 'seg-00000001.jsonl',
    entity_revs: {},
    next_seq: 9,
    project_id: projectId,
  }
  journal.files.set('meta.json', Buffer.from(JSON.stringify(meta)))
})
judged(
  'a checkpoint without a ref that covers more than there is, or another writer’s record',
  6,
  { seq_hole: 1, checkpoint_mismatch: 1 },
  journal => {
    journal.add()
    journal.roll()
    journal.checkpoint(() => ({ header: { head_writer: 'w_7-cafe' } }), false)
    journal.add()
    journal.roll()
    journal.add()
    journal.roll()
    journal.checkpoint(undefined, false)
    journal.segments.length -= 2
  },
)
judged('a checkpoint that is not there any more', 0, { checkpoint_absent: 1 }, journal => {
  journal.add()
  journal.roll()
  journal.files.delete(join('checkpoints', journal.checkpoint()))
})

// Blobs
judged('a blob that is missing, whether or not its record is the newest', 6, { blob_missing: 1 }, journal => {
  journal.add({ item_id: 'a', payload_ref: { sha256: sha256Hex('x'), bytes: 1 } })
  journal.add({ item_id: 'a', action: 'update' })
})
judged('blobs with another length and with other bytes', 6, { blob_mismatch: 2 }, journal => {
  const ref = journal.blob({ schema_version: 1 })
  journal.add({ payload_ref: { ...ref, bytes: 3 } })
  const other = journal.blob({ schema_version: 2 })
  journal.add({ payload_ref: other })
  for (const name of journal.files.keys()) {
    if (name.endsWith(other.sha256)) journal.files.set(name, Buffer.from('{"schema_version":3}'))
  }
})

// The directory
judged(
  'a name that looks like a segment',
  0,
  { segment_misnamed: 1 },
  journal => void journal.files.set('seg-1.jsonl', Buffer.from('{}\n')),
)
judged('a segment that is a directory', 6, { unreadable: 1, history_starts_at: 1 }, ordinary, {
  damage: dir => {
    rmSync(join(dir, segmentName(1)))
    mkdirSync(join(dir, segmentName(1)))
  },
})
judged(
  'a segment and a checkpoint that are links, a subdirectory that is none',
  6,
  { unreadable: 3 },
  journal => {
    journal.add()
    journal.roll()
    journal.checkpoint()
    journal.files.set('archive', Buffer.from(''))
  },
  {
    damage: dir => {
      symlinkSync(segmentName(1), join(dir, segmentName(90)))
      rmSync(join(dir, 'checkpoints', checkpointName(2)))
      symlinkSync('elsewhere', join(dir, 'checkpoints', checkpointName(2)))
    },
  },
)
judged('a damaged compressed segment', 6, { unreadable: 1, seq_hole: 1 }, journal => {
  journal.add()
  journal.roll()
  const [name] = journal.park(2, true)
  const bytes = journal.files.get(name as string) as Buffer
  journal.files.set(name as string, bytes.subarray(0, -4))
})

// History that is not all there
judged(
  'history that begins late, with the checkpoint that covers what is gone (OB-67)',
  0,
  { history_starts_at: 1 },
  journal => {
    ordinary(journal)
    journal.segments.splice(0, 1)
    journal.add({ item_id: 'river/1', action: 'update' })
    journal.add({ item_type: 'alert', item_id: 'river/unreachable' })
    journal.roll()
    journal.checkpoint()
  },
)
judged(
  'history that begins late: what the checkpoint says is held against what comes',
  6,
  { history_starts_at: 1, revision: 2 },
  journal => {
    ordinary(journal)
    journal.segments.splice(0, 1)
    journal.add({ item_id: 'river/1', action: 'update', entity_rev: 9 })
    journal.add({ item_type: 'alert', item_id: 'river/unreachable', entity_rev: 1 })
  },
)
judged('history that begins late, without a checkpoint', 0, { history_starts_at: 1 }, journal => {
  journal.add({ item_id: 'a' })
  journal.roll()
  journal.add({ item_id: 'a' })
  journal.add({ item_id: 'b' })
  journal.segments.splice(0, 1)
})
judged(
  'history that begins before the head of the checkpoint that covers it',
  0,
  { history_starts_at: 1 },
  journal => {
    journal.add({ item_id: 'a' })
    journal.add({ item_id: 'gone' })
    journal.roll()
    journal.add({ item_id: 'a' })
    journal.add({ item_id: 'gone', action: 'delete' })
    journal.roll()
    journal.checkpoint()
    journal.segments.splice(0, 1)
    journal.add({ item_id: 'a' })
    journal.roll()
    journal.checkpoint()
  },
)
judged(
  'a wrong checkpoint where history begins late: only what can be known is held against it',
  6,
  { history_starts_at: 1, checkpoint_mismatch: 1 },
  journal => {
    journal.add({ item_id: 'a' })
    journal.roll()
    journal.add({ item_id: 'b' })
    journal.roll()
    journal.checkpoint(({ entities }) => ({
      entities: entities.map(entity => ({ ...entity, payload: { schema_version: 9 } })),
    }))
    journal.segments.splice(0, 1)
  },
)
judged(
  'a checkpoint without a ref is not believed where history begins late',
  0,
  { history_starts_at: 1, checkpoint_orphan: 1 },
  journal => {
    journal.add({ item_id: 'a' })
    journal.roll()
    journal.checkpoint(withFirst({ entity_rev: 9 }), false)
    journal.add({ item_id: 'a' })
    journal.segments.splice(0, 1)
  },
)

// Foreign journals
judged(
  'a foreign journal, whatever it holds (OB-67)',
  0,
  { foreign: 1, malformed_line: 1, seq_hole: 1, duplicate_seq: 1, tx_incomplete: 1, revision: 1 },
  journal => {
    journal.line(
      '{"v":2,"seq":1,"action":"create","item_type":"plan","item_id":"p","payload":{},"entity_rev":7}\n',
    )
    journal.line('not a record\n\n')
    journal.line('{"v":2,"seq":5,"action":"create","item_type":"plan"}\n')
    journal.line('{"v":2,"seq":5,"action":"invent","item_type":"plan"}\n')
    journal.next = 6
    journal.run(3, 2)
    journal.roll(false)
    journal.line('{"v":2,"seq":8,"action":"create","item_type":"plan"}\n')
  },
  { begin: () => new JournalMaker({ native: false }) },
)
judged(
  'a foreign journal that cannot be read',
  6,
  { foreign: 1, unreadable: 1 },
  journal => journal.line('{"v":2,"seq":1,"action":"create","item_type":"plan"}\n'),
  { damage: dir => mkdirSync(join(dir, segmentName(2))), begin: () => new JournalMaker({ native: false }) },
)

t.test('verify - every kind of finding was brought about (OB-65)', async t => {
  t.strictSame([...seen].sort(), Object.keys(findingKinds).sort())
})

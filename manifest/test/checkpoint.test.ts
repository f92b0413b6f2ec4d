import {
  type CheckpointFile,
  type CheckpointHeader,
  checkpointFooter,
  checkpointKey,
  compareUtf8,
  type Entity,
  encodeCheckpoint,
  encodeCheckpointHeader,
  headOf,
  inCheckpointOrder,
  parseCheckpointEntity,
  parseCheckpointHeader,
  parseCheckpointRef,
  refFault,
  revisionsInOrder,
} from '@kim/manifest'
import t from 'tap'
import { endsCheckpointHeader } from '../dist/checkpoint.js'

const header: CheckpointHeader = {
  project_id: '0123456789abcdef0123456789abcdef',
  head_seq: 7,
  head_writer: 'w_1-a',
  capabilities: ['registry_genesis'],
  entity_count: 2,
  revisions: [['alert', 'river/unreachable', 2]],
  keys: [['k', 3, '2026-06-10T14:03:22.114Z']],
  chain: { segment: 'seg-00000001.jsonl', sha256: 'ab'.repeat(32) },
}

const entities: Entity[] = [
  {
    item_type: 'message',
    item_id: 'river/1',
    agent: 'river',
    entity_rev: 1,
    payload: { b: 1, a: 2 },
    seq: 2,
    ts: 'x',
  },
  {
    item_type: 'persona',
    item_id: 'river',
    entity_rev: 0,
    payload_ref: { sha256: 'ab'.repeat(32), bytes: 70_000 },
    seq: 3,
  },
]

t.test('checkpoint - is one JSON document laid out line by line, JF-63 JF-64', async t => {
  const text = [...encodeCheckpoint(header, entities)].join('')
  t.equal(
    text,
    '{"checkpoint":1,"capabilities":["registry_genesis"],"chain":{"segment":"seg-00000001.jsonl","sha256":"abababababababababababababababababababababababababababababababab"},"entity_count":2,"head_seq":7,"head_writer":"w_1-a","keys":[\n["k",3,"2026-06-10T14:03:22.114Z"]\n],"project_id":"0123456789abcdef0123456789abcdef","revisions":[\n["alert","river/unreachable",2]\n],"entities":[\n' +
      '{"agent":"river","entity_rev":1,"item_id":"river/1","item_type":"message","payload":{"a":2,"b":1},"seq":2,"ts":"x"},\n' +
      '{"entity_rev":0,"item_id":"river","item_type":"persona","payload_ref":{"bytes":70000,"sha256":"abababababababababababababababababababababababababababababababab"},"seq":3}\n' +
      ']}\n',
  )
  t.match(JSON.parse(text), { checkpoint: 1, entities: [{ item_id: 'river/1' }, { item_id: 'river' }] })
  const empty = [...encodeCheckpoint({ ...header, entity_count: 0 }, [])].join('')
  t.same(JSON.parse(empty).entities, [])
})

t.test('checkpoint - is read back line by line', async t => {
  const [first = '', ...rest] = [...encodeCheckpoint(header, entities)].map(line => line.trimEnd())
  t.same(parseCheckpointHeader(first), { ok: true, header })
  t.same(parseCheckpointHeader(first.replaceAll('\n', '')), { ok: true, header }, 'in one line')
  const lines = first.split('\n')
  t.equal(lines.length, 5)
  t.same(
    lines.map(line => endsCheckpointHeader(line)),
    [false, false, false, false, true],
  )
  t.equal(rest.pop(), checkpointFooter)
  t.same(
    rest.map(parseCheckpointEntity).map(entity => ({ ...entity })),
    [
      { ...entities[0], payload_ref: undefined },
      { ...entities[1], agent: undefined, payload: undefined, ts: undefined },
    ],
  )
  t.same(headOf(header), { seq: 7, writer: 'w_1-a' })
})

t.test('checkpoint - a header that is none, or of a later version, is refused, table C', async t => {
  const line = encodeCheckpointHeader(header)
  const edited = (from: string, to: string): unknown => {
    t.ok(line.includes(from), from)
    return parseCheckpointHeader(line.replace(from, to))
  }
  const refused = { ok: false, fault: 'header' }
  t.same(edited('"checkpoint":1', '"checkpoint":2'), { ok: false, fault: 'future' })
  t.same(edited('"checkpoint":1', '"checkpoint":"1"'), refused)
  t.same(edited('"checkpoint":1', '"checkpoint":0'), refused)
  t.same(edited('"head_seq":7', '"head_seq":0'), refused)
  t.same(edited('"head_seq":7', '"head_seq":"7"'), refused)
  t.same(edited('"head_writer":"w_1-a"', '"head_writer":7'), refused)
  t.same(edited('"entity_count":2', '"entity_count":-2'), refused)
  t.same(edited('["registry_genesis"]', '"registry_genesis"'), refused)
  t.same(edited('["k",3', '[7,3'), refused)
  t.same(edited('"river/unreachable",2', '"river/unreachable",-2'), refused)
  t.same(edited('"sha256":"ab', '"sha256":"AB'), refused)
  t.same(edited('"chain":{', '"chains":{'), refused)
  t.same(edited('"project_id"', '"project"'), refused)
  t.match(edited('"head_writer":"w_1-a"', '"head_writer":null'), { ok: true, header: { head_writer: null } })
  for (const bad of ['', '{', '[]', 'null', line.slice(0, -1), `${line} `, `${line}]}`]) {
    t.same(parseCheckpointHeader(bad), refused, bad.slice(-20))
  }
})

t.test('checkpoint - a line that is no entity is refused', async t => {
  const bad = [
    '',
    ',',
    ']}',
    '[]',
    '{"item_type":"a","item_id":"b","seq":1}',
    '{"item_type":"a","item_id":"b","payload":{}}',
    '{"item_type":"a","item_id":"b","payload":[],"seq":1}',
    '{"item_type":1,"item_id":"b","payload":{},"seq":1}',
    '{"item_type":"a","item_id":"b","payload":{"n":1e999},"seq":1}',
    `{"item_type":"a","item_id":"b","payload":{"deep":${'['.repeat(255)}${']'.repeat(255)}},"seq":1}`,
  ]
  for (const line of bad) t.equal(parseCheckpointEntity(line), undefined, line)
  t.match(
    parseCheckpointEntity('{"item_type":"a","item_id":"b","payload":{},"seq":1,"entity_rev":-1,"agent":1},'),
    {
      entity_rev: undefined,
      agent: undefined,
      payload: {},
    },
  )
})

t.test('checkpoint - is verified against ref, project and itself, JF-67', async t => {
  const ref = { file: 'ckpt-00000007.json', sha256: 'cd'.repeat(32), bytes: 10, head_seq: 7, entities: 2 }
  const file: CheckpointFile = { name: ref.file, header, bytes: 10, sha256: ref.sha256 }
  const id = header.project_id
  t.same(parseCheckpointRef({ schema_version: 1, ...ref }), ref)
  t.equal(refFault({ ref, seq: 8 }, file, id), undefined)
  t.equal(refFault({ ref, seq: 8 }, file, undefined), undefined, 'a journal that states no project')
  t.equal(refFault({ ref, seq: 8 }, file, 'other'), 'project')
  t.equal(refFault({ ref, seq: 7 }, file, id), 'head', 'a ref at or before the head')
  t.equal(refFault({ ref: { ...ref, head_seq: 8 }, seq: 8 }, file, id), 'head')
  t.equal(refFault({ ref: { ...ref, file: 'ckpt-00000008.json' }, seq: 8 }, file, id), 'head')
  t.equal(refFault({ ref: { ...ref, entities: 3 }, seq: 8 }, file, id), 'count')
  t.equal(refFault({ ref, seq: 8 }, { ...file, bytes: 11 }, id), 'digest')
  t.equal(refFault({ ref, seq: 8 }, { ...file, sha256: 'ef'.repeat(32) }, id), 'digest')
  for (const bad of [
    undefined,
    {},
    { ...ref, sha256: 'x' },
    { ...ref, bytes: -1 },
    { ...ref, head_seq: 0 },
  ]) {
    t.equal(parseCheckpointRef(bad), undefined)
  }
})

t.test('checkpoint - entities and revisions stand in the order of their UTF-8 bytes, JF-64', async t => {
  const names = ['\ufb33', '😀', 'b', 'é', 'a', 'a\tb', '']
  const expected = names
    .map(name => ({ name, bytes: Buffer.from(`t\t${name}`) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ name }) => name)
  const ordered = inCheckpointOrder(names.map(item_id => ({ item_type: 't', item_id, payload: {}, seq: 1 })))
  t.same(
    ordered.map(({ item_id }) => item_id),
    expected,
  )
  t.same(
    revisionsInOrder(names.map(name => ['t', name, 1] as const)).map(([, name]) => name),
    expected,
  )
  t.ok(compareUtf8(checkpointKey('a', 'z'), checkpointKey('b', 'a')) < 0)
  t.equal(checkpointKey('a', '\ud800'), 'a\t\ufffd')
})

t.test('checkpoint - carries names that no other text survives', async t => {
  const names = ['__proto__', '\ud800', 'a\nb', '"', '\u0000']
  const odd = names.map(item_id => ({ item_type: '__proto__', item_id, payload: {}, seq: 1 }))
  const lines = [...encodeCheckpoint({ ...header, entity_count: odd.length }, odd)]
  t.same(
    lines.slice(1, -1).map(line => parseCheckpointEntity(line.trimEnd())?.item_id),
    names,
  )
})

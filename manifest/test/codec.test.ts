import {
  type EventRecord,
  encodeRecord,
  KimError,
  type MalformedReason,
  type ReadRecord,
} from '@kim/manifest'
import fc from 'fast-check'
import t from 'tap'
import { type Decoded, decodeLine } from '../dist/record.js'
import { seedOfRun } from './kit/prng.js'
import { lineOf, record } from './kit/records.js'

const minimal = { v: 2, seq: 1, action: 'create', item_type: 'message' }

function reasonOf(line: string | object | Uint8Array, atFileStart = false): MalformedReason | string {
  const decoded = decodeLine(line instanceof Uint8Array ? line : lineOf(line), atFileStart)
  return decoded.kind === 'malformed' ? decoded.reason : decoded.kind
}

function read(line: string | object): ReadRecord {
  const decoded = decodeLine(lineOf(line))
  if (decoded.kind !== 'record') throw new RangeError(`expected a record, not ${JSON.stringify(decoded)}`)
  return decoded.record
}

const codeOf = (fields: object): string => {
  try {
    encodeRecord({ ...record(), ...fields } as EventRecord)
    return 'written'
  } catch (error) {
    return error instanceof KimError ? error.code : String(error)
  }
}

t.test('encode - sorted keys at every depth, no white space, one line, JF-11', async t => {
  const line = encodeRecord(
    record({
      event: 'new',
      key: 'k',
      actor: { name: 'river', kind: 'persona' },
      clock: { wait_ms: 1.5, mono_ms: 2, boot_ms: 3 },
      tx: { n: 1, id: 'x', i: 1 },
      payload: { schema_version: 1, b: { z: 1, a: [2, { y: 1, x: null }] }, A: true },
    }),
  )
  t.equal(
    line,
    '{"action":"create","actor":{"kind":"persona","name":"river"},"agent":"river","clock":{"boot_ms":3,"mono_ms":2,"wait_ms":1.5},"entity_rev":1,"event":"new","item_id":"river/1","item_type":"message","key":"k","payload":{"A":true,"b":{"a":[2,{"x":null,"y":1}],"z":1},"schema_version":1},"seq":1,"summary":"from argus: tests are green","ts":"2026-06-10T14:03:22.114Z","tx":{"i":1,"id":"x","n":1},"v":2,"writer":"w_31416-9f3c2a"}\n',
  )
})

t.test('encode - the order in which fields were set changes no byte', async t => {
  const one = record({ payload: { schema_version: 1, a: 1, b: 2 } })
  const other = Object.fromEntries(Object.entries(one).reverse()) as unknown as EventRecord
  t.equal(encodeRecord(other), encodeRecord(one))
})

t.test('encode - strings and keys become well-formed, JF-12', async t => {
  const line = encodeRecord(
    record({ summary: 'a\ud800b', payload: { schema_version: 1, 'k\udc00': ['\ud83d'] } }),
  )
  t.match(line, '"summary":"a\ufffdb"')
  t.match(line, '"k\ufffd":["\ufffd"]')
  t.notMatch(
    encodeRecord(record({ summary: 'path C:\\ud800' })),
    '\ufffd',
    'an escaped backslash is no escape',
  )
  t.equal(read(encodeRecord(record({ summary: 'path C:\\ud800' })).trim()).summary, 'path C:\\ud800')
})

t.test('encode - U+FEFF in a string is written as an escape and read back, JF-18', async t => {
  const line = encodeRecord(record({ summary: '\ufeffhello' }))
  t.notOk(line.includes('\ufeff'))
  t.equal(read(line.trim()).summary, '\ufeffhello')
})

t.test('encode - refuses a line of 256 KiB + 1 with its newline, JF-14', async t => {
  const sizeOf = (id: string): number => Buffer.byteLength(encodeRecord(record({ item_id: id })))
  const room = 262_144 - sizeOf('x') + 1
  t.equal(sizeOf('x'.repeat(room)), 262_144)
  t.equal(codeOf({ item_id: 'x'.repeat(room + 1) }), 'record_too_large')
})

t.test('encode - refuses an inline payload over 64 KiB, which goes to a blob, JF-51', async t => {
  const payload = (length: number): object => ({ payload: { schema_version: 1, text: 'x'.repeat(length) } })
  const frame = '{"schema_version":1,"text":""}'.length
  t.equal(codeOf(payload(65_536 - frame)), 'written')
  t.equal(codeOf(payload(65_536 - frame + 1)), 'record_too_large')
})

t.test('encode - refuses seq 100 000 000, JF-45', async t => {
  t.equal(codeOf({ seq: 99_999_999 }), 'written')
  t.equal(codeOf({ seq: 100_000_000 }), 'seq_exhausted')
})

t.test('encode - refuses nesting and numbers no reader takes', async t => {
  let deep: object = {}
  for (let i = 0; i < 300; i++) deep = { deep }
  t.equal(codeOf({ payload: { schema_version: 1, deep } }), 'record_invalid')
  t.equal(codeOf({ payload: { schema_version: 1, n: Number.POSITIVE_INFINITY } }), 'record_invalid')
})

t.test('encode - refuses what breaks a rule of the writer', async t => {
  const breaches: Record<string, object> = {
    'another version': { v: 1 },
    'seq 0': { seq: 0 },
    'fractional seq': { seq: 1.5 },
    'ts without milliseconds': { ts: '2026-06-10T14:03:22Z' },
    'ts of another zone': { ts: '2026-06-10T14:03:22.114+00:00' },
    'writer without a pid': { writer: 'river' },
    'no agent': { agent: '' },
    'verb without a class': { action: 'frobnicate' },
    'no type': { item_type: '' },
    'no id': { item_id: '' },
    'negative revision': { entity_rev: -1 },
    'summary of 201 code points': { summary: '😀'.repeat(201) },
    'payload that is a list': { payload: [1] },
    'payload that is null': { payload: null },
    'payload without schema_version': { payload: { a: 1 } },
    'payload and ref': {
      payload: { schema_version: 1 },
      payload_ref: { sha256: 'a'.repeat(64), bytes: 1 },
    },
    'ref of a note': { action: 'journal_note', payload_ref: { sha256: 'a'.repeat(64), bytes: 1 } },
    'ref with a short hash': { payload_ref: { sha256: 'a'.repeat(63), bytes: 1 } },
    'empty event': { event: '' },
    'empty key': { key: '' },
    'actor without a key': { actor: { kind: 'operator', name: 'river' } },
    'actor without a name': { key: 'k', actor: { kind: 'operator' } },
    'negative clock': { clock: { mono_ms: -1 } },
    'clock that is text': { clock: { boot_ms: '1' } },
    'tx beyond its end': { tx: { id: 'x', i: 2, n: 1 } },
    'tx of 1001 records': { tx: { id: 'x', i: 1, n: 1001 } },
    'unknown field': { extra: 1 },
  }
  for (const [what, fields] of Object.entries(breaches)) t.equal(codeOf(fields), 'record_invalid', what)
  t.equal(codeOf({ summary: '😀'.repeat(200) }), 'written')
  t.equal(codeOf({ tx: { id: 'x', i: 1000, n: 1000 } }), 'written')
  t.equal(codeOf({ action: 'run_paused' }), 'written', 'a wildcard is a class')
})

const json: fc.Arbitrary<unknown> = fc.jsonValue({ maxDepth: 4 })

const records: fc.Arbitrary<EventRecord> = fc
  .record(
    {
      seq: fc.integer({ min: 1, max: 99_999_999 }),
      agent: fc.string({ minLength: 1, unit: 'grapheme' }),
      action: fc.constantFrom('create', 'update', 'delete', 'run_created', 'run_unheard_of'),
      item_type: fc.string({ minLength: 1, unit: 'grapheme' }),
      item_id: fc.oneof(
        fc.string({ minLength: 1, unit: 'grapheme' }),
        fc.constantFrom('__proto__', 'a\u0000\tb'),
      ),
      entity_rev: fc.nat(),
      summary: fc.string({ maxLength: 60, unit: 'grapheme' }),
      payload: fc
        .dictionary(fc.oneof(fc.string(), fc.constant('__proto__')), json, { noNullPrototype: true })
        .map(rest => ({ ...rest, schema_version: 1 }) as unknown as NonNullable<EventRecord['payload']>),
      event: fc.string({ minLength: 1 }),
      clock: fc.record({ mono_ms: fc.nat(), wait_ms: fc.nat() }),
    },
    { requiredKeys: ['seq', 'agent', 'action', 'item_type', 'item_id', 'entity_rev', 'summary'] },
  )
  .map(fields => record(fields as Partial<EventRecord>))

t.test('codec - decode after encode is the identity, and encoding again gives the same bytes', async t => {
  let count = 0
  const result = fc.check(
    fc.property(records, original => {
      count++
      const line = encodeRecord(original)
      const decoded = decodeLine(Buffer.from(line.slice(0, -1)))
      if (decoded.kind !== 'record') return false
      const { raw } = decoded.record
      const same =
        JSON.stringify(sorted(raw)) === JSON.stringify(sorted(JSON.parse(JSON.stringify(original))))
      return same && encodeRecord(raw as unknown as EventRecord) === line
    }),
    { numRuns: 2000, seed: seedOfRun() },
  )
  t.notOk(result.failed, fc.defaultReportMessage(result) ?? `seed ${result.seed}`)
  t.comment(`identity: ${count} records, seed ${result.seed}`)
})

/** A value with the entries of every object in one order, own `__proto__` included. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? 0 : value
  return Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => [key, sorted(item)])
}

t.test('decode - a record is frozen at every depth, also when it is shared', async t => {
  const record = read({
    ...minimal,
    payload: { list: [{ deep: [1, {}] }], nothing: null },
    tx: { id: 'a', i: 1, n: 1 },
    clock: { mono_ms: 1 },
    actor: { kind: 'human', name: 'x' },
    unknown: { inner: {} },
  })
  const values = new Set<unknown>([record])
  for (const value of values) {
    t.ok(Object.isFrozen(value))
    for (const inner of Object.values(value as object))
      if (typeof inner === 'object' && inner !== null) values.add(inner)
  }
  t.equal(values.size, 12)
})

t.test('decode - every malformed reason, JF-19', async t => {
  const cases: [MalformedReason, string | object | Uint8Array][] = [
    ['invalid_utf8', Buffer.from([0x7b, 0xff, 0x7d])],
    ['invalid_utf8', Buffer.from([0xc3])],
    ['invalid_json', '{'],
    ['invalid_json', 'hello'],
    ['invalid_json', '\ufeff{}'],
    ['invalid_json', '{"v":2,}'],
    ['invalid_json', '\u00a0'],
    ['number_range', '{"v":2,"seq":1,"action":"create","item_type":"message","payload":{"x":[1e400]}}'],
    ['number_range', `-1${'0'.repeat(309)}`],
    ['not_object', '[]'],
    ['not_object', 'null'],
    ['not_object', '"text"'],
    ['not_object', '2'],
    ['wrong_version', {}],
    ['wrong_version', { ...minimal, v: '2' }],
    ['wrong_version', { ...minimal, v: 1 }],
    ['wrong_version', { ...minimal, v: 1.5 }],
    ['wrong_version', { ...minimal, v: null }],
    ['wrong_version', { ...minimal, v: -3 }],
    ['no_seq', { ...minimal, seq: undefined }],
    ['no_seq', { ...minimal, seq: 0 }],
    ['no_seq', { ...minimal, seq: -1 }],
    ['no_seq', { ...minimal, seq: 1.5 }],
    ['no_seq', { ...minimal, seq: '1' }],
    ['no_seq', { ...minimal, seq: 2 ** 53 }],
    ['no_action', { ...minimal, action: undefined }],
    ['no_action', { ...minimal, action: '' }],
    ['no_action', { ...minimal, action: 1 }],
    ['no_item_type', { ...minimal, item_type: undefined }],
    ['no_item_type', { ...minimal, item_type: '' }],
    ['bad_payload', { ...minimal, payload: null }],
    ['bad_payload', { ...minimal, payload: [] }],
    ['bad_payload', { ...minimal, payload: 'text' }],
  ]
  for (const [reason, line] of cases) {
    t.equal(reasonOf(line), reason, `${reason}: ${JSON.stringify(line)?.slice(0, 60)}`)
  }
})

t.test('decode - a line of 16 MiB is read, one byte more is too long, JF-19', async t => {
  const line = Buffer.alloc(16_777_217, 0x20)
  t.equal(reasonOf(line.subarray(1)), 'blank')
  t.equal(reasonOf(line), 'too_long')
})

t.test('decode - nesting of 256 is read, 257 is too deep, JF-19', async t => {
  const nested = (levels: number, open: string, close: string, last = 'null'): string =>
    `{"v":2,"seq":1,"action":"create","item_type":"message","x":${open.repeat(levels - 1)}${last}${close.repeat(levels - 1)}}`
  t.equal(reasonOf(nested(256, '[', ']')), 'record')
  t.equal(reasonOf(nested(257, '[', ']')), 'too_deep')
  t.equal(reasonOf(nested(256, '{"a":', '}')), 'record')
  t.equal(reasonOf(nested(257, '{"a":', '}')), 'too_deep')
  const both = (levels: number): string => nested(levels / 2 + 1, '[{"a":', '}]').replace('null', '0')
  t.equal(reasonOf(both(254)), 'record', 'lists and objects in turn')
  t.equal(reasonOf(both(256)), 'too_deep', 'lists and objects in turn')
  const brackets = `{"v":2,"seq":1,"action":"create","item_type":"message","x":"\\"${'[{'.repeat(400)}"}`
  t.equal(reasonOf(brackets), 'record', 'brackets in a string do not nest')
  const wide = `{"v":2,"seq":1,"action":"create","item_type":"message","x":[${'[],'.repeat(400)}[]]}`
  t.equal(reasonOf(wide), 'record', 'brackets side by side do not nest')
  t.equal(reasonOf('['.repeat(1_000_000)), 'too_deep', 'an endless opening is not parsed')
})

t.test('decode - numbers within the range of a double are read, JF-23', async t => {
  for (const number of ['1e308', '-1.7976931348623157e308', '1e-400', '0e999', '1234567890'.repeat(30)]) {
    t.equal(
      reasonOf(`{"v":2,"seq":1,"action":"create","item_type":"message","x":${number}}`),
      'record',
      number,
    )
  }
  t.equal(read('{"v":2,"seq":5e0,"action":"create","item_type":"message"}').seq, 5)
})

t.test('decode - blank lines are nothing, JF-17', async t => {
  for (const line of ['', ' ', '\t', '\r', ' \t\r']) t.equal(reasonOf(line), 'blank')
  t.equal(reasonOf('\u000b'), 'invalid_json', 'other white space is not white')
})

t.test('decode - a byte order mark is skipped at byte 0 of a file only, JF-18', async t => {
  const line = `\ufeff${JSON.stringify(minimal)}`
  t.equal(reasonOf(lineOf(line), true), 'record')
  t.equal(reasonOf(lineOf(line), false), 'invalid_json')
  t.equal(reasonOf(lineOf(`\ufeff${line}`), true), 'invalid_json', 'one of them')
  t.equal(reasonOf(lineOf('\ufeff'), true), 'blank')
  t.equal(reasonOf(`${JSON.stringify(minimal)}\ufeff`), 'invalid_json')
  t.equal(read({ ...minimal, summary: '\ufeff' }).summary, '\ufeff', 'inside a string it is text')
})

t.test('decode - a trailing carriage return is white space, JF-18', async t => {
  t.equal(reasonOf(`${JSON.stringify(minimal)}\r`), 'record')
})

t.test('decode - a later version is future, JF-21', async t => {
  const future = (v: number, seq: unknown): Decoded => decodeLine(lineOf({ v, seq }))
  t.same(future(3, 7), { kind: 'future', seq: 7 })
  t.same(future(2.5, 7), { kind: 'future', seq: 7 })
  t.same(future(3, '7'), { kind: 'future' })
  t.same(future(3, 0), { kind: 'future' })
})

t.test('decode - of a key that stands twice the last counts, JF-22', async t => {
  t.equal(read('{"v":2,"seq":1,"seq":9,"action":"create","item_type":"message"}').seq, 9)
})

t.test('decode - a field of another type counts as absent, JF-24', async t => {
  const odd = read({
    ...minimal,
    item_id: '',
    writer: 1,
    agent: null,
    ts: 5,
    entity_rev: '1',
    summary: {},
    event: '',
    key: [],
    clock: { mono_ms: 'x' },
    actor: 'river',
  })
  const { raw: _, ...fields } = odd
  t.same(Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)), {
    seq: 1,
    action: 'create',
    item_type: 'message',
  })
  for (const rev of [-1, 1.5, 2 ** 53, true, null]) {
    t.equal(read({ ...minimal, entity_rev: rev }).entity_rev, undefined, `entity_rev ${rev}`)
  }
})

t.test('decode - all fields of our writer come through', async t => {
  const whole = record({
    payload: { schema_version: 1 },
    event: 'new',
    key: 'k',
    actor: { kind: 'operator', name: 'river' },
    clock: { mono_ms: 1, boot_ms: 2, wait_ms: 3 },
    tx: { id: 'x', i: 1, n: 1 },
  })
  const { raw, ...fields } = read(encodeRecord(whole).trim())
  const { v, ...rest } = raw
  t.equal(v, 2)
  t.same(fields, { ...rest, payload_ref: undefined })
})

t.test('decode - tx is checked, a tx no transaction has is malformed, JF-41', async t => {
  const txOf = (tx: unknown): unknown => read({ ...minimal, tx }).tx
  t.same(txOf({ id: 'x', i: 1, n: 1000 }), { id: 'x', i: 1, n: 1000 })
  const bad = [
    { id: 'x', i: 1, n: 1001 },
    { id: 'x', i: 0, n: 1 },
    { id: 'x', i: 2, n: 1 },
    { id: '', i: 1, n: 1 },
    { id: 1, i: 1, n: 1 },
    { id: 'x', i: 1.5, n: 2 },
    null,
    'x',
    [],
  ]
  for (const tx of bad) t.equal(txOf(tx), 'malformed', JSON.stringify(tx))
})

t.test('decode - payload_ref is checked, beside a payload it is ignored, JF-52', async t => {
  const sha256 = 'ab'.repeat(32)
  const decoded = (fields: object): Decoded => decodeLine(lineOf({ ...minimal, ...fields }))
  t.match(decoded({ payload_ref: { sha256, bytes: 0 } }), {
    record: { payload_ref: { sha256, bytes: 0 } },
    defects: [],
  })
  const bad = [
    { sha256: sha256.toUpperCase(), bytes: 1 },
    { sha256: sha256.slice(1), bytes: 1 },
    { sha256, bytes: -1 },
    { sha256, bytes: 1.5 },
    { sha256, bytes: 2 ** 53 },
    { sha256 },
    null,
    'x',
  ]
  for (const payload_ref of bad) {
    t.match(
      decoded({ payload_ref }),
      { record: { payload_ref: undefined, payload: undefined }, defects: ['payload_ref_invalid'] },
      JSON.stringify(payload_ref),
    )
  }
  for (const payload_ref of [{ sha256, bytes: 1 }, null]) {
    t.match(decoded({ payload: {}, payload_ref }), {
      record: { payload_ref: undefined, payload: {} },
      defects: ['payload_ref_ignored'],
    })
  }
})

t.test('decode - names of a prototype are names like any other, JF-15', async t => {
  const line =
    '{"v":2,"seq":1,"action":"constructor","item_type":"__proto__","item_id":"toString","payload":{"__proto__":{"polluted":true}},"__proto__":{"event":"new"}}'
  const odd = read(line)
  t.equal(odd.event, undefined)
  t.equal(odd.item_type, '__proto__')
  t.ok(Object.hasOwn(odd.payload ?? {}, '__proto__'))
  t.equal(({} as Record<string, unknown>)['polluted'], undefined)
})

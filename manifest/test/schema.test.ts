import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  actionClasses,
  alertFacts,
  alertKinds,
  type EventRecord,
  encodeRecord,
  type JsonObject,
  KimError,
} from '@kim/manifest'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { record } from './kit/records.js'

const folder = fileURLToPath(new URL('../schema/', import.meta.url))
const files = readdirSync(folder)
const ajv = new Ajv2020({ allErrors: true, strictRequired: false })
const schemas = new Map<string, ValidateFunction>()
for (const file of files) {
  const schema = JSON.parse(readFileSync(`${folder}${file}`, 'utf8')) as { $id: string }
  schemas.set(file.replace('.json', ''), ajv.compile(schema))
}

function accepts(name: string, value: unknown): boolean {
  const validate = schemas.get(name)
  if (validate === undefined) throw new RangeError(`no schema ${name}`)
  return validate(value)
}

const sha256 = 'ab'.repeat(32)
const project_id = '0123456789abcdef0123456789abcdef'
const created = '2026-06-10T14:03:22.114Z'
const segment = 'seg-00000001.jsonl'
const persona = { persona: 'river', cursor: 4, floor: 1, state: 'up', watched: true, unread_urgent: 0 }
const alert = { persona: 'river', status: 'open', reason: 'timeout: no answer' }

/** For every payload one that stands in a journal. */
const payloads: Record<string, object[]> = {
  message: [
    { persona: 'river', id: 246, from: 'argus', content: 'hi', content_length: 2, created, read: false },
    { persona: 'river', id: 0, from: null, content_length: 0, created: null, read: true, clipped: true },
  ],
  persona: [
    persona,
    { ...persona, silent_to: 9, known_from: 2 },
    { ...persona, seeded: 9, current_max: 4 },
    { ...persona, capped_to: 50, dropped: 7 },
    {
      ...persona,
      armed_at: 3,
      skipped: 2,
      id_range: [1, 3],
      unread_held: 'unknown',
      reason: 'first contact',
    },
  ],
  alert: [
    { ...alert, kind: 'unreachable', consecutive_failures: 3, seconds: 180.5 },
    {
      ...alert,
      kind: 'bounded-window',
      omitted: 4,
      window_floor: 9,
      cursor_at: 4,
      reconciled: 0,
      pinned: true,
      walk: { next_before_id: 9, proven_down_to: 9 },
    },
    {
      ...alert,
      kind: 'unread-not-shown',
      unread_not_shown: 2,
      window_floor: null,
      cursor_at: 4,
      above_watermark: null,
    },
    { ...alert, kind: 'stranded-mail', stranded_inboxes: ['Argus'], dormant_inboxes: ['loom'] },
    { ...alert, kind: 'urgent-unanswered', urgent_unanswered: ['loom'] },
    { ...alert, kind: 'id-regressed', current_max: 3, cursor_at: 9 },
    { ...alert, kind: 'unreachable', status: 'cleared' },
  ],
  redacted: [{ redacted: true }],
  'seq-repair': [{ from: 3, to: 9, reason: 'meta.json was ahead' }],
  'checkpoint-ref': [{ file: 'ckpt-00000007.json', sha256, bytes: 1, head_seq: 7, entities: 0 }],
  'note-genesis': [{ kind: 'genesis', project_id, source: 'http://localhost:7474', created }],
  'note-registry-genesis': [
    { kind: 'registry_genesis', mode: 'all', personas: ['river'], missing: [] },
    { kind: 'registry_genesis', mode: 'list', personas: ['river'], missing: ['loom'], part: 1, parts: 2 },
  ],
  'note-segment-sealed': [
    { kind: 'segment_sealed', segment, bytes: 10, sha256, first_seq: 1, last_seq: 9, project_id },
  ],
  'note-torn-tail-adjudicated': [{ kind: 'torn_tail_adjudicated', segment, from: 0, to: 7, sha256 }],
  'note-tx-abandoned': [
    { kind: 'tx_abandoned', tx_id: 'x', segment, first_seq: 1, last_seq: 2, records: 2, n: 3 },
  ],
  'note-redaction': [
    {
      kind: 'redaction',
      reason: 'asked for',
      item_type: 'message',
      item_id: 'river/1',
      files: [{ segment, before: { bytes: 2, sha256 }, after: { bytes: 1, sha256 } }],
      part: 1,
      parts: 1,
    },
  ],
  'note-store-marker': [{ kind: 'store_marker', text: '' }],
  'note-producer-started': [
    { kind: 'producer_started', version: '0.1.0', pid: 7, node: 'v20.19.0', platform: 'linux' },
  ],
  'note-producer-stopped': [{ kind: 'producer_stopped', reason: 'SIGTERM' }],
}

t.test('schemas - one for the record, each payload and each kind of note', async t => {
  t.same([...schemas.keys()].sort(), ['record', ...Object.keys(payloads)].sort())
  t.same(
    files
      .filter(file => file.startsWith('note-'))
      .map(file => file.slice(5, -5).replaceAll('-', '_'))
      .sort(),
    [...actionClasses.note_kinds].sort(),
  )
})

t.test('schemas - kinds of alerts, and the members that list inboxes, are as in the manifest', async t => {
  const schema = JSON.parse(readFileSync(`${folder}alert.json`, 'utf8')) as {
    properties: { kind: { enum: string[] } }
  }
  t.same(schema.properties.kind.enum, [...alertKinds.keys()])
  for (const example of payloads['alert'] ?? []) {
    const member = alertFacts(example as JsonObject).names_in
    if (member !== undefined) t.ok(Object.hasOwn(example, member), member)
  }
})

t.test('schemas - take every payload, with its version, and no other field', async t => {
  for (const [name, examples] of Object.entries(payloads)) {
    for (const example of examples) {
      const whole = { schema_version: 1, ...example }
      t.ok(accepts(name, whole), `${name} ${JSON.stringify(example)}`)
      t.notOk(accepts(name, example), `${name} without schema_version`)
      t.notOk(accepts(name, { ...whole, schema_version: 2 }), `${name} of another version`)
      t.notOk(accepts(name, { ...whole, unheard_of: 1 }), `${name} with another field`)
    }
  }
})

t.test('schemas - need every field that is not optional', async t => {
  const optional: Record<string, string[]> = {
    message: ['content', 'clipped'],
    persona: Object.keys({
      ...payloads['persona']?.[1],
      ...payloads['persona']?.[2],
      ...payloads['persona']?.[3],
      ...payloads['persona']?.[4],
    }).filter(field => !Object.hasOwn(persona, field)),
    alert: ['dormant_inboxes', 'urgent_unanswered_write_only'],
    'note-registry-genesis': ['part', 'parts'],
  }
  for (const [name, examples] of Object.entries(payloads)) {
    for (const example of examples) {
      for (const field of Object.keys(example)) {
        const { [field as keyof typeof example]: _, ...rest } = { schema_version: 1, ...example }
        t.equal(accepts(name, rest), optional[name]?.includes(field) ?? false, `${name} without ${field}`)
      }
    }
  }
})

const reference: JsonObject = { sha256, bytes: 70_000 }

t.test('schemas - judge a record as the codec of the writer does', async t => {
  const lines: [boolean, object][] = [
    [true, {}],
    [true, { payload: { schema_version: 1 } }],
    [true, { payload_ref: reference }],
    [
      true,
      { event: 'new', key: 'k', actor: { kind: 'operator', name: 'river' }, tx: { id: 'x', i: 1, n: 2 } },
    ],
    [true, { clock: { mono_ms: 1.5 } }],
    [true, { summary: '😀'.repeat(200) }],
    [false, { summary: '😀'.repeat(201) }],
    [false, { v: 3 }],
    [false, { seq: 0 }],
    [false, { seq: 100_000_000 }],
    [false, { ts: 'today' }],
    [false, { writer: 'river' }],
    [false, { agent: '' }],
    [false, { item_id: '' }],
    [false, { entity_rev: -1 }],
    [false, { payload: {} }],
    [false, { payload: { schema_version: 1 }, payload_ref: reference }],
    [false, { payload_ref: { sha256: 'x', bytes: 1 } }],
    [false, { event: '' }],
    [false, { actor: { kind: 'operator', name: 'river' } }],
    [false, { tx: { id: 'x', i: 1, n: 1001 } }],
    [false, { unheard_of: 1 }],
  ]
  for (const [expected, fields] of lines) {
    const value = { ...record(), ...fields }
    t.equal(accepts('record', value), expected, JSON.stringify(fields).slice(0, 80))
    t.equal(isWritten(value), expected, `codec: ${JSON.stringify(fields).slice(0, 80)}`)
  }
})

function isWritten(value: EventRecord): boolean {
  try {
    return encodeRecord(value).length > 0
  } catch (error) {
    if (error instanceof KimError) return false
    throw error
  }
}

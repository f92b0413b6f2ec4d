import { type EventRecord, encodeRecord, toWellFormed } from '@kim/manifest'
import fc from 'fast-check'
import stringify from 'fast-json-stable-stringify'
import t from 'tap'

const name = fc.string({ minLength: 1, unit: 'binary' })
const count = fc.nat()
const payload = fc
  .dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 4 }))
  .map(fields => ({ ...fields, schema_version: 1 }))
const ref = fc.record({ bytes: count, sha256: fc.constant('0f'.repeat(32)) })

const records = fc
  .record(
    {
      v: fc.constant(2),
      seq: fc.integer({ min: 1, max: 99_999_999 }),
      ts: fc.constant('2026-06-10T14:03:22.114Z'),
      writer: fc.constant('w_31416-9f3c2a'),
      agent: name,
      action: fc.constantFrom('create', 'update', 'delete', 'session_start'),
      item_type: name,
      item_id: name,
      entity_rev: count,
      summary: fc.string({ maxLength: 200, unit: 'binary' }),
      payload,
      payload_ref: ref,
      event: name,
      key: name,
      actor: fc.record({ name: fc.string(), kind: fc.string(), more: fc.jsonValue() }),
      clock: fc.record({ wait_ms: count, boot_ms: count, mono_ms: count }, { requiredKeys: [] }),
      tx: fc.constant({ n: 2, id: 'x', i: 1 }),
    },
    {
      requiredKeys: [
        'v',
        'seq',
        'ts',
        'writer',
        'agent',
        'action',
        'item_type',
        'item_id',
        'entity_rev',
        'summary',
      ],
    },
  )
  .map(record => {
    const { payload_ref, actor, ...rest } = record
    const refOnly = rest.payload === undefined && payload_ref !== undefined ? { payload_ref } : {}
    return { ...rest, ...refOnly, ...(rest.key === undefined || actor === undefined ? {} : { actor }) }
  })

t.test('codec - a line is byte for byte what the stable stringify makes of the record', async t => {
  const result = fc.check(
    fc.property(records, drawn => {
      const record = drawn as unknown as EventRecord
      const expected = stringify(toWellFormed(record)).replaceAll('\ufeff', '\\ufeff')
      return encodeRecord(record) === `${expected}\n`
    }),
    { numRuns: 3000 },
  )
  t.notOk(result.failed, fc.defaultReportMessage(result) ?? '')
})

import { encodeRecord } from '@kim/manifest'
import fc from 'fast-check'
import t from 'tap'
import { type Decoded, decodeLine } from '../dist/record.js'
import { Prng, seedOfRun } from './kit/prng.js'
import { record } from './kit/records.js'

const runs = 120_000
const kinds = ['blank', 'record', 'future', 'malformed']

/** Texts that a line may be made of: fragments of records, hostile values, and halves of characters. */
const fragments: readonly Uint8Array[] = [
  encodeRecord(record({ payload: { schema_version: 1, content: 'é😀\u2028' } })).slice(0, -1),
  '{"v":2,"seq":1,"action":"create","item_type":"message"}',
  '{"v":2,',
  '"seq":',
  '9007199254740993',
  '1e999',
  '-0',
  '"action":"create"',
  '"payload":',
  '"payload_ref":{"sha256":"',
  '"tx":{"id":"x","i":1,"n":2}',
  '"__proto__":{',
  '[',
  ']',
  '{',
  '}',
  ',',
  ':',
  '"',
  '\\',
  '\\ud800',
  '\\u0000',
  'null',
  'true',
  ' ',
  '\r',
  '\t',
  '\ufeff',
  '😀',
  '['.repeat(300),
  '{"a":'.repeat(300),
].map(text => Buffer.from(text))

function arbitraryLine(prng: Prng): Uint8Array {
  if (prng.int(4) === 0) return Uint8Array.from({ length: prng.int(64) }, () => prng.int(256))
  return Buffer.concat(Array.from({ length: 1 + prng.int(8) }, () => prng.pick(fragments)))
}

/** A valid line with a few bytes changed, removed, doubled or cut off. */
function nearlyValidLine(prng: Prng): Uint8Array {
  const bytes = [...(fragments[prng.int(2)] as Uint8Array)]
  for (let edits = prng.int(4); edits >= 0; edits--) {
    const at = prng.int(bytes.length)
    const edit = prng.int(5)
    if (edit === 0) bytes[at] = prng.int(256)
    else if (edit === 1) bytes.splice(at, 1 + prng.int(3))
    else if (edit === 2) bytes.splice(at, 0, bytes[at] ?? 0)
    else if (edit === 3) bytes.splice(at, 0, ...prng.pick(fragments))
    else bytes.length = at
  }
  return Uint8Array.from(bytes)
}

t.test('codec - decoding is total over arbitrary and nearly valid lines', async t => {
  const prng = new Prng(seedOfRun())
  const seen = new Map<string, number>()
  for (let run = 0; run < runs; run++) {
    const line = run % 2 === 0 ? arbitraryLine(prng) : nearlyValidLine(prng)
    const atFileStart = prng.int(2) === 0
    let decoded: Decoded
    try {
      decoded = decodeLine(line, atFileStart)
    } catch (error) {
      t.fail(`threw ${error} at run ${run} of seed ${prng.seed}: ${Buffer.from(line).toString('hex')}`)
      return
    }
    const what = decoded.kind === 'malformed' ? decoded.reason : decoded.kind
    seen.set(what, (seen.get(what) ?? 0) + 1)
  }
  t.comment(`fuzz: ${runs} lines, seed ${prng.seed}: ${JSON.stringify(Object.fromEntries(seen))}`)
  t.equal(
    [...seen.values()].reduce((sum, n) => sum + n, 0),
    runs,
  )
  for (const what of [
    'record',
    'blank',
    'invalid_json',
    'invalid_utf8',
    'too_deep',
    'not_object',
    'number_range',
  ]) {
    t.ok(seen.has(what), `${what} was met`)
  }
})

t.test('codec - decoding is total over what fast-check makes', async t => {
  let count = 0
  const lines = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.json().map(text => Buffer.from(text)),
    fc
      .record({
        v: fc.anything(),
        seq: fc.anything(),
        action: fc.string(),
        item_type: fc.string(),
        tx: fc.anything(),
      })
      .map(value => Buffer.from(JSON.stringify(value, (_, item) => (typeof item === 'bigint' ? 1 : item)))),
  )
  const result = fc.check(
    fc.property(lines, fc.boolean(), (line, atFileStart) => {
      count++
      return kinds.includes(decodeLine(line, atFileStart).kind)
    }),
    { numRuns: 5000, seed: seedOfRun() },
  )
  t.notOk(result.failed, fc.defaultReportMessage(result) ?? '')
  t.comment(`fast-check: ${count} lines, seed ${result.seed}`)
})

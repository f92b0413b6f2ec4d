import { createHash } from 'node:crypto'
import {
  compareUtf8,
  entityHash,
  jcs,
  payloadHash,
  projectionDigest,
  sha256Hex,
  toWellFormed,
} from '@kim/manifest'
import fc from 'fast-check'
import t from 'tap'
import { seedOfRun } from './kit/prng.js'

const sha256 = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex')

t.test('jcs - numbers, literals and escapes of RFC 8785', async t => {
  const value = {
    numbers: [333333333.3333333, 1e30, 4.5, 2e-3, 0.000000000000000000000000001, -0, 1e21, 5e-324],
    string: '\u20ac$\u000f\u000aA\'\u0042\u0022\u005c\\"/',
    literals: [null, true, false],
  }
  t.equal(
    jcs(value),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27,0,1e+21,5e-324],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  )
})

t.test('jcs - keys are ordered by UTF-16 code units', async t => {
  const value = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 }
  t.equal(jcs(value), '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}')
})

t.test('jcs - a lone surrogate is an escape in lower case, JF-56', async t => {
  t.equal(jcs(['\ud83d', '\udE00', 'a\ud800b']), '["\\ud83d","\\ude00","a\\ud800b"]')
  t.equal(jcs({ '\udfff': 1 }), '{"\\udfff":1}')
})

t.test('jcs - __proto__ is a key like any other', async t => {
  t.equal(jcs(JSON.parse('{"b":1,"__proto__":{"a":2}}')), '{"__proto__":{"a":2},"b":1}')
})

t.test('order - of UTF-8 bytes without making them', async t => {
  const points = [
    '',
    'a',
    'b',
    '\u007f',
    '\u0080',
    '\u07ff',
    '\u0800',
    '\ud7ff',
    '\ue000',
    '\ufb33',
    '\uffff',
    '😀',
    '\u{10ffff}',
  ]
  for (const a of points) {
    for (const b of points) {
      const expected = Math.sign(Buffer.compare(Buffer.from(`x${a}`), Buffer.from(`x${b}`)))
      t.equal(Math.sign(compareUtf8(`x${a}`, `x${b}`)), expected, `${escape(a)} ${escape(b)}`)
    }
  }
  const result = fc.check(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
      const [left, right] = [toWellFormed(a), toWellFormed(b)]
      return (
        Math.sign(compareUtf8(left, right)) ===
        Math.sign(Buffer.compare(Buffer.from(left), Buffer.from(right)))
      )
    }),
    { seed: seedOfRun(), numRuns: 3000 },
  )
  t.notOk(result.failed, fc.defaultReportMessage(result) ?? '')
})

t.test('digest - of nothing and of the example, JF-55 JF-57', async t => {
  t.equal(projectionDigest([]), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  const payload = {
    content: 'tests are green',
    content_length: 15,
    created: '2026-06-10T14:03:21Z',
    from: 'argus',
    id: 246,
    persona: 'river',
    read: false,
    schema_version: 1,
  }
  const hash = payloadHash(payload)
  t.equal(hash, '9faf30273ceaab8893c36bf25e07c9abf9b702d2274f83f394a02a7cd1ae4adb')
  t.equal(
    projectionDigest([{ item_type: 'message', item_id: 'river/246', entity_rev: 1, hash }]),
    '47c895bf3ef0803466976fe706662afa7fa9ec612912183d5e23e6116d4ab7f9',
  )
})

t.test('digest - lines are ordered by their UTF-8 bytes, whatever order they come in', async t => {
  const hash = sha256('{}')
  const entities = ['\uffee', '😀', 'b', 'a', 'a\tc', 'é'].map(item_id => ({ item_type: 'x', item_id, hash }))
  const lines = entities.map(({ item_id }) => Buffer.from(`x\t${item_id}\t\t${hash}\n`)).sort(Buffer.compare)
  t.equal(projectionDigest(entities), sha256(Buffer.concat(lines)))
  t.equal(projectionDigest(entities.toReversed()), projectionDigest(entities))
})

t.test(
  'digest - a lone surrogate of a field is EF BF BD, an absent revision is empty, JF-55 JF-56',
  async t => {
    const hash = sha256('{}')
    const line = Buffer.concat([
      Buffer.from('t\ta'),
      Buffer.from([0xef, 0xbf, 0xbd]),
      Buffer.from(`\t\t${hash}\n`),
    ])
    t.equal(projectionDigest([{ item_type: 't', item_id: 'a\ud800', hash }]), sha256(line))
    t.equal(
      projectionDigest([{ item_type: 't', item_id: 'a', entity_rev: 0, hash }]),
      sha256(`t\ta\t0\t${hash}\n`),
    )
  },
)

t.test('digest - a payload in a blob counts by its recorded hash, JF-55', async t => {
  t.equal(entityHash({ payload_ref: { sha256: 'ab'.repeat(32), bytes: 1 } }), 'ab'.repeat(32))
  t.equal(entityHash({ payload: {} }), sha256('{}'))
  t.equal(sha256Hex(Buffer.from('{}')), sha256('{}'))
})

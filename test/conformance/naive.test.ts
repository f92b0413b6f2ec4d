import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { coldMembers, differencesOf } from './compare.js'
import { canonicalJson, projectionDigest, sha256Hex } from './naive/digest.js'
import { coldPart, readNaively } from './naive/naive-reader.js'
import { loadRules } from './naive/rules.js'
import { loadVectors, repositoryRoot } from './vectors.js'

const rules = loadRules(join(repositoryRoot, 'manifest'))
const vectors = loadVectors()

t.test('naive reader - finds what every vector states (OB-61, OB-62)', async t => {
  for (const { name, eventsDir, cursorFile, expect } of vectors) {
    const cursor = cursorFile === undefined ? undefined : JSON.parse(readFileSync(cursorFile, 'utf8'))
    const { verify_exit: _, ...stated } = expect
    t.same(differencesOf(stated, { ...readNaively(eventsDir, cursor, rules) }), [], name)
  }
  t.comment(`${vectors.length} vectors`)
  t.ok(vectors.length >= 70, 'there are enough of them')
})

t.test('naive reader - its cold part has the members of a cold start', async t => {
  const result = coldPart(readNaively(join(repositoryRoot, 'nowhere'), undefined, rules))
  t.same(Object.keys(result).sort(), coldMembers)
})

t.test('naive reader - refuses a cursor that is none (U2)', async t => {
  for (const cursor of [null, 5, {}, { seq: '1' }, { seq: -1 }, { seq: 1.5 }]) {
    t.throws(() => readNaively(repositoryRoot, cursor, rules), JSON.stringify(cursor))
  }
})

t.test('canonical JSON - is the text RFC 8785 prints in its own example', async t => {
  const text =
    '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}'
  t.equal(
    canonicalJson(JSON.parse(text)),
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  )
})

t.test('digest - of the record that journal-format.md shows is the one it states (JF-55, JF-57)', async t => {
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
  const hash = sha256Hex(canonicalJson(payload))
  t.equal(hash, '9faf30273ceaab8893c36bf25e07c9abf9b702d2274f83f394a02a7cd1ae4adb')
  t.equal(
    projectionDigest([{ itemType: 'message', itemId: 'river/246', rev: 1, hash }]),
    '47c895bf3ef0803466976fe706662afa7fa9ec612912183d5e23e6116d4ab7f9',
  )
  t.equal(projectionDigest([]), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
})

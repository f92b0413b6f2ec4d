import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { type ReadRecord, recordOf } from '@kim/manifest'
import t from 'tap'
import { PAYLOAD_MEMBERS, Redactor } from '../dist/internal.js'

const SECRET = 'tell no one'

function decoded(line: string): { bytes: Uint8Array; record: ReadRecord } {
  const bytes = Buffer.from(line)
  const record = recordOf(bytes)
  if (record === undefined) throw new RangeError(line)
  return { bytes, record }
}

/** What a foreign writer may put anywhere. */
const line = `{"v":2,"seq":7,"action":"${SECRET}","item_type":"${SECRET}","item_id":"river/1","agent":"river","ts":"${SECRET}","writer":"${SECRET}","summary":"${SECRET}","event":"${SECRET}","key":"${SECRET}","note":"${SECRET}","actor":{"kind":"${SECRET}","name":"${SECRET}"},"clock":{"mono_ms":1,"why":"${SECRET}"},"tx":{"id":"${SECRET}","i":1,"n":1},"payload":{"from":"argus","status":"open","__proto__":{"a":"${SECRET}"},"${SECRET}":1,"deep":[{"list":["${SECRET}",2,null,true]}],"kind":"${'x'.repeat(300)} ${SECRET}","content":"${SECRET}"}}`

t.test('CL-51 redactor - takes out every text that may be prose, wherever a writer put it', async t => {
  for (const mode of ['bodies', 'all'] as const) {
    const { bytes, record } = decoded(line)
    const text = String(new Redactor(mode).line(bytes, { kind: 'record', record }))
    t.notMatch(text, new RegExp(SECRET), mode)
    const again = decoded(text)
    t.match(again.record, {
      seq: 7,
      tx: { id: 't1', i: 1, n: 1 },
      payload: { status: 'open', content: 'redacted' },
    })
    const inner = Object.values(again.record.payload ?? {}).find(value => Array.isArray(value))
    t.match(JSON.stringify(inner), '["redacted",2,null,true]')
    t.equal(again.record.agent, mode === 'all' ? 'p1' : 'river')
    t.equal(again.record.item_id, mode === 'all' ? 'p1/1' : 'river/1')
    t.equal(again.record.clock?.mono_ms, 1)
  }
  const { bytes, record } = decoded(line)
  t.equal(new Redactor('none').line(bytes, { kind: 'record', record }), bytes)
})

t.test(
  'CL-51 redactor - the same name stays the same, and lines that are no records say how long they were',
  async t => {
    const redactor = new Redactor('all')
    t.same(
      ['river', 'argus', 'river', 'kim'].map(name => redactor.persona(name)),
      ['p1', 'p2', 'p1', 'kim'],
    )
    t.same(
      [redactor.id('message', 'argus/9'), redactor.id('gate', 'g'), redactor.id('persona', 'river')],
      ['p2/9', 'i1', 'p1'],
    )
    const bytes = Buffer.from(`garbage ${SECRET}`)
    t.equal(redactor.line(bytes, { kind: 'malformed' }), `{"bytes":${bytes.length},"redacted_line":true}`)
    const future = Buffer.from(`{"v":3,"seq":9,"x":"${SECRET}"}`)
    t.match(JSON.parse(String(redactor.line(future, { kind: 'future', seq: 9 }))), { v: 3, seq: 9 })
    const blank = Buffer.from(' ')
    t.equal(redactor.line(blank, { kind: 'blank' }), blank)
  },
)

t.test('CL-51 redactor - a string passes only in the form that belongs to its name', async t => {
  const kept = {
    ...{ kind: 'unread-not-shown', status: 'open', state: 'up', mode: 'walk', item_type: 'message' },
    ...{ platform: 'linux', node: 'v20.19.0', version: '0.1.0', created: '2026-06-10T14:00:00Z' },
    ...{ segment: 'seg-00000012.jsonl', file: 'ckpt-00000111.json', sha256: 'a'.repeat(64) },
    project_id: 'f'.repeat(32),
  }
  const source = 'https://api.example.org:8080'
  const shown = (mode: 'bodies' | 'all', payload: object): object => {
    const members = { v: 2, seq: 1, action: 'create', item_type: 'task', item_id: 'river/1', agent: 'river' }
    const { bytes, record } = decoded(JSON.stringify({ ...members, payload }))
    const line = String(new Redactor(mode).line(bytes, { kind: 'record', record }))
    return decoded(line).record.payload ?? {}
  }
  t.same(shown('bodies', { ...kept, source }), { ...kept, source })
  t.same(shown('all', { ...kept, source }), { ...kept, source: 'redacted' })
  const prose = Object.fromEntries([...Object.keys(kept), 'source'].map(name => [name, `${SECRET}/x.docx`]))
  for (const mode of ['bodies', 'all'] as const)
    t.same(
      [
        ...new Set(
          Object.values(shown(mode, { ...prose, nested: { status: [SECRET] } })).map(value =>
            JSON.stringify(value),
          ),
        ),
      ].filter(value => value !== '"redacted"').length,
      1,
      'nothing but what is nested',
    )
  t.notMatch(JSON.stringify(shown('all', { ...prose, nested: { status: [SECRET] } })), SECRET)
  t.same(shown('all', { river: 1, read: true, deep: { river: 2, argus: 3 } }), {
    m1: 1,
    read: true,
    m2: { m1: 2, m3: 3 },
  })
})

t.test('CL-51 redactor - of an id all that stays under "all" is a number or a kind of alert', async t => {
  const redactor = new Redactor('all')
  t.same(
    [
      ['message', 'river/12'],
      ['alert', 'river/unread-not-shown'],
      ['alert', 'river/launch'],
      ['task', 'river/launch'],
      ['task', 'river/unreachable'],
      ['journal', 'genesis'],
      ['journal', 'a note about river'],
    ].map(([type = '', id = '']) => redactor.id(type, id)),
    ['p1/12', 'p1/unread-not-shown', 'i1', 'i1', 'i2', 'genesis', 'i1'],
  )
  t.same(
    [redactor.time(SECRET), redactor.time('2026-06-10T14:00:00.000Z'), redactor.word(SECRET)],
    [undefined, '2026-06-10T14:00:00.000Z', 'other'],
  )
  t.equal(redactor.project(SECRET), 'redacted')
})

t.test('CL-51 redactor - its own words are those of the schemas', async t => {
  const schemas = join(
    dirname(createRequire(import.meta.url).resolve('@kim/manifest/package.json')),
    'schema',
  )
  const members = new Set<string>()
  const gather = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const properties: unknown = Reflect.get(value, 'properties')
    if (typeof properties === 'object' && properties !== null)
      for (const name of Object.keys(properties)) members.add(name)
    for (const inner of Object.values(value)) gather(inner)
  }
  const read = (name: string): Record<string, unknown> =>
    JSON.parse(readFileSync(join(schemas, name), 'utf8')) as Record<string, unknown>
  for (const name of readdirSync(schemas)) if (name !== 'record.json') gather(read(name))
  t.same([...PAYLOAD_MEMBERS].sort(), [...members].sort())
})

t.test('CL-51 redactor - a payload in a blob is redacted like one in the line', async t => {
  const ref = { sha256: 'b'.repeat(64), bytes: 70_000 }
  const members = { v: 2, seq: 1, action: 'create', item_type: 'message', item_id: 'river/1', agent: 'river' }
  const { bytes, record } = decoded(JSON.stringify({ ...members, payload_ref: ref }))
  const payload = { content: SECRET, read: false, id: 1, created: '2026-06-10T14:00:00Z' }
  const shown = (redactor: Redactor): unknown =>
    decoded(String(redactor.line(bytes, { kind: 'record', record }))).record.payload
  t.same(shown(new Redactor('bodies', () => payload)), { ...payload, content: 'redacted' })
  t.same(
    shown(new Redactor('bodies')),
    { bytes: 70_000, redacted: true, schema_version: 1 },
    'or says how long it is',
  )
  const many = { list: Array.from({ length: 40_000 }, () => 1) }
  t.same(shown(new Redactor('bodies', () => many)), { bytes: 70_000, redacted: true, schema_version: 1 })
})

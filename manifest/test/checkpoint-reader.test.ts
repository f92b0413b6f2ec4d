import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { type CheckpointHeader, CheckpointReader, type Entity, encodeCheckpoint, limits } from '@kim/manifest'
import t from 'tap'

const header: CheckpointHeader = {
  project_id: '0123456789abcdef0123456789abcdef',
  head_seq: 7,
  head_writer: 'w_1-a',
  capabilities: [],
  entity_count: 2,
  revisions: [],
  keys: [['k', 3, '2026-06-10T14:03:22.114Z']],
  chain: { segment: 'seg-00000001.jsonl', sha256: 'ab'.repeat(32) },
}

const entities: Entity[] = [1, 2].map(seq => ({
  item_type: 'message',
  item_id: `river/☃${seq}`,
  agent: 'river',
  entity_rev: 1,
  payload: { n: seq },
  seq,
  ts: '2026-06-10T14:03:22.114Z',
}))

const textOf = (changed: Partial<CheckpointHeader> = {}): string =>
  [...encodeCheckpoint({ ...header, ...changed }, entities)].join('')

/** Reads a document in pieces of this size. */
function read(document: string, size = 7): { reader: CheckpointReader; found: unknown[] } {
  const found: unknown[] = []
  const bytes = Buffer.from(document)
  const reader = new CheckpointReader(line => {
    const isPlaced = bytes.toString('utf8', line.offset, line.offset + line.length) === line.text
    found.push(isPlaced ? line.entity() : 'at another place')
  })
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size))
  return { reader, found }
}

const faultOf = (document: string): string | undefined => read(document).reader.fault(7)

t.test('checkpoint reader - reads header, entities and digest however the bytes are cut, JF-63', async t => {
  const document = textOf()
  const bytes = Buffer.byteLength(document)
  for (const size of [1, 7, 100, bytes]) {
    const { reader, found } = read(document, size)
    t.equal(reader.fault(7), undefined)
    t.same(reader.header, header)
    t.same(
      found,
      entities.map(entity => ({ ...entity, payload_ref: undefined })),
    )
    t.equal(reader.bytes, bytes)
    t.equal(reader.sha256, createHash('sha256').update(document).digest('hex'))
  }
})

t.test('checkpoint reader - wants the announced number of entities, JF-63', async t => {
  t.equal(faultOf(textOf({ entity_count: 3 })), 'it has 2 entities, but its header says 3')
  t.equal(faultOf(textOf().replace(/^\{"agent".*\n/m, '')), 'it has 1 entities, but its header says 2')
})

t.test('checkpoint reader - wants the footer at the very end, JF-63', async t => {
  const text = textOf()
  const wrong = 'it does not end like a checkpoint'
  t.equal(faultOf(text.slice(0, -1)), wrong)
  t.equal(faultOf(text.slice(0, -4)), wrong)
  t.equal(faultOf(`${text}more`), wrong, 'an unterminated line')
  t.equal(faultOf(`${text}more\n`), wrong, 'a line')
  t.equal(faultOf(`${text}]}\n`), wrong, 'a second footer')
})

t.test(
  'checkpoint reader - wants a header of this version and the head that the name states, CO-6',
  async t => {
    const text = textOf()
    t.equal(read(text).reader.fault(8), 'its header names seq 7, but its file name 8')
    t.equal(faultOf(text.replace('{"checkpoint":1,', '{"checkpoint":2,')), 'header: future')
    t.equal(faultOf(text.replace('"head_seq":7', '"head_seq":"7"')), 'header: header')
    t.equal(faultOf(''), 'no header')
    t.equal(faultOf('{}\n'), 'no header')
    t.notOk(read(text.replace('"head_seq":7', '"head_seq":"7"')).reader.push(Buffer.from('x')), 'and stops')
  },
)

t.test('checkpoint reader - holds no line above the limit', async t => {
  const reader = new CheckpointReader()
  t.notOk(reader.push(Buffer.from(`${'x'.repeat(limits.lineReadBytesMax + 1)}\n`)))
  t.equal(reader.fault(7), 'a line is too long')
})

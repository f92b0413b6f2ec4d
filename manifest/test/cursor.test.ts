import {
  formatConsumerCursor,
  formatCursor,
  formatCursorToken,
  parseConsumerCursor,
  parseCursor,
  parseCursorToken,
  parseWatermark,
} from '@kim/manifest'
import t from 'tap'

const WRITERS = ['w_1-aa', null]

t.test('watermark - a count and a writer, or null where the writer is unknown', async t => {
  for (const writer of WRITERS) {
    for (const seq of [0, 7, Number.MAX_SAFE_INTEGER]) t.same(parseWatermark(seq, writer), { seq, writer })
    for (const seq of [-1, 0.5, '7', null, undefined, 2 ** 53])
      t.equal(parseWatermark(seq, writer), undefined, String(seq))
  }
  for (const writer of [undefined, 5, {}]) t.equal(parseWatermark(7, writer), undefined, String(writer))
})

t.test('cursor - comes back from its bytes, which never change', async t => {
  for (const writer of WRITERS) {
    const cursor = { checkpoint_seq: 3, seq: 7, writer }
    t.same(parseCursor(JSON.parse(formatCursor(cursor))), cursor)
  }
  t.equal(
    formatCursor({ seq: 7, writer: 'w_1-aa', checkpoint_seq: 3 }),
    '{"checkpoint_seq":3,"seq":7,"writer":"w_1-aa"}\n',
  )
  t.same(parseCursor({ seq: 7 }), { checkpoint_seq: 0, seq: 7, writer: null }, 'both others may be missing')
})

t.test('cursor - nothing stored is no cursor, anything else is an error', async t => {
  t.equal(parseCursor(undefined), undefined)
  t.equal(parseCursor(null), undefined)
  const odd = ['', 7, [], {}, { seq: -1 }, { seq: 7, writer: 5 }, { seq: 7, checkpoint_seq: null }]
  for (const value of odd)
    t.throws(() => parseCursor(value), { code: 'cursor_invalid' }, JSON.stringify(value))
})

t.test('consumer cursor - CL-24 comes back from its bytes, which never change', async t => {
  for (const writer of WRITERS) {
    const cursor = { projectId: 'p', seq: 7, writer, checkpointSeq: 3 }
    t.same(parseConsumerCursor(formatConsumerCursor(cursor)), cursor)
  }
  t.equal(
    formatConsumerCursor({ seq: 7, writer: 'w_1-aa', projectId: 'p', checkpointSeq: 3 }),
    '{"checkpoint_seq":3,"project_id":"p","seq":7,"writer":"w_1-aa"}\n',
  )
  t.same(
    parseConsumerCursor('{"project_id":"p","seq":7}'),
    { projectId: 'p', seq: 7, writer: null, checkpointSeq: 0 },
    'both others may be missing',
  )
})

t.test('consumer cursor - any other text is none', async t => {
  for (const text of [
    '',
    '{',
    '[]',
    '7',
    '{}',
    '{"seq":1}',
    '{"project_id":"","seq":1}',
    '{"project_id":"p"}',
    '{"project_id":"p","seq":-1}',
    '{"project_id":"p","seq":1,"writer":5}',
    '{"project_id":"p","seq":1,"checkpoint_seq":-1}',
  ]) {
    t.equal(parseConsumerCursor(text), undefined, text)
  }
})

t.test('cursor token - comes back from its text, which never changes', async t => {
  for (const writer of WRITERS) {
    const token = { projectId: 'p', seq: 7, writer }
    t.same(parseCursorToken(formatCursorToken(token)), token)
  }
  t.equal(formatCursorToken({ seq: 7, writer: null, projectId: 'p' }), 'k1.WyJwIiw3LG51bGxd')
})

t.test('cursor token - any other text is none', async t => {
  const odd = (value: unknown): string => `k1.${Buffer.from(JSON.stringify(value)).toString('base64url')}`
  for (const text of [
    '',
    'k1.',
    'k2.AA',
    '7',
    odd({}),
    odd(['', 1, null]),
    odd(['p', -1, null]),
    odd(['p', 1, 5]),
    odd(['p', 1]),
    odd(['p', 1, null, 0]),
  ]) {
    t.equal(parseCursorToken(text), undefined, text)
  }
})

import { type Dialect, type Page, parseBody, validatePage } from '@kim/producer/internal'
import t from 'tap'

const rows = (...ids: unknown[]): unknown[] => ids.map(id => ({ id }))

function judge(body: unknown, isNewest = true, dialect: Dialect = 'hosted'): ReturnType<typeof validatePage> {
  return validatePage(body, dialect, isNewest)
}

function pageOf(body: unknown, isNewest = true, dialect: Dialect = 'hosted'): Partial<Page> {
  const judged = judge(body, isNewest, dialect)
  return judged.ok ? judged.value : {}
}

t.test('page - not an object with an array of rows, it is invalid in shape (KS-16, D4)', async t => {
  for (const body of [[1], null, {}, { result: {} }, 'text', 5, true, { result: null }]) {
    t.match(judge(body), { ok: false, failure: { token: 'shape-invalid' } }, JSON.stringify(body))
  }
})

t.test('page - every row needs an id that is a safe positive integer (KS-16, D5, D13)', async t => {
  const bad = [
    1,
    {},
    [],
    null,
    { id: '5' },
    { id: true },
    { id: 5.5 },
    { id: 0 },
    { id: -1 },
    { id: null },
    { id: 2 ** 53 },
  ]
  for (const row of bad) {
    t.match(
      judge({ result: [{ id: 4 }, row] }),
      { ok: false, failure: { token: 'shape-invalid' } },
      JSON.stringify(row),
    )
  }
  for (const text of ['99999999999999999999999', '1e400']) {
    const body = parseBody(Buffer.from(`{"result":[{"id":${text}}]}`))
    t.match(body.ok && judge(body.value), { ok: false, failure: { token: 'shape-invalid' } }, text)
  }
  const float = parseBody(Buffer.from('{"result":[{"id":5.0}]}'))
  t.match(float.ok && pageOf(float.value), { rows: [{ id: 5 }] }, 'cannot be told from 5')
})

t.test('page - an id that stands twice spoils it (KS-16, D6)', async t => {
  t.match(judge({ result: rows(5, 9, 5) }), {
    ok: false,
    failure: { reason: 'shape-invalid: id 5 occurs twice in one page' },
  })
})

t.test('page - rows are ordered by id, whatever order they come in (KS-10, B6)', async t => {
  for (const ids of [
    [3, 5, 7, 6],
    [7, 6, 5, 3],
    [3, 5, 6, 7],
  ]) {
    t.same(
      pageOf({ result: rows(...ids) }, true, 'local').rows?.map(({ id }) => id),
      [3, 5, 6, 7],
    )
  }
  t.same(pageOf({ result: [] }, true, 'local').rows, [], 'none is healthy')
})

t.test('row - members of another type count for nothing (KS-19, C4, C6)', async t => {
  const page = pageOf({
    result: [
      { id: 1 },
      { id: 2, from: 5, content: null, created: {}, read: 'true' },
      { id: 3, from: 'river', content: { a: [1, ' '] }, created: 'now', read: true },
      { id: 4, content: 12, read: 1 },
      { id: 5, from: '\ud800x', content: '\u0000\u2028\udc00', created: '\udfff' },
    ],
  })
  t.same(page.rows, [
    { id: 1, from: null, content: '', created: null, read: false },
    { id: 2, from: null, content: '', created: null, read: false },
    { id: 3, from: 'river', content: '{"a":[1," "]}', created: 'now', read: true },
    { id: 4, from: null, content: '12', created: null, read: false },
    { id: 5, from: '\ufffdx', content: '\u0000\u2028\ufffd', created: '\ufffd', read: false },
  ])
})

t.test('row - keys that name what every object has are keys like any other', async t => {
  const body = parseBody(
    Buffer.from(
      '{"__proto__":{"truncated":true},"result":[{"id":1,"__proto__":{"from":"x"}}],"next_before_id":null}',
    ),
  )
  t.match(body.ok && pageOf(body.value), { omitted: 0, rows: [{ id: 1, from: null }] })
})

const end = { kind: 'end' }
const more = (beforeId: number): object => ({ kind: 'more', beforeId })
const unreadable = { kind: 'unreadable' }

/** Members of a page beside its rows, and what they come to: omitted, exact, continuation, contradictory. */
const WITHHELD: readonly (readonly [string, object, number, boolean, object, boolean])[] = [
  [
    'nothing',
    { truncated: false, size_dropped: 0, size_truncated: false, next_before_id: null },
    0,
    true,
    end,
    false,
  ],
  ['nothing but the end said', { next_before_id: null }, 0, true, end, false],
  ['truncated', { truncated: true, next_before_id: 200 }, 1, false, more(200), false],
  ['truncated "yes" (G21)', { truncated: 'yes', next_before_id: 200 }, 1, false, more(200), false],
  ['truncated null (G21)', { truncated: null, next_before_id: 200 }, 1, false, more(200), false],
  ['dropped 2 (G3)', { size_dropped: 2, next_before_id: 200 }, 2, true, more(200), false],
  [
    'dropped 2 and truncated',
    { truncated: true, size_dropped: 2, next_before_id: 200 },
    3,
    false,
    more(200),
    false,
  ],
  [
    'dropped "3" (G23)',
    { size_dropped: '3', size_truncated: false, next_before_id: 200 },
    1,
    false,
    more(200),
    false,
  ],
  [
    'dropped "3", the end (G23)',
    { size_dropped: '3', size_truncated: false, next_before_id: null },
    1,
    false,
    end,
    true,
  ],
  ['dropped -1', { size_dropped: -1, next_before_id: 200 }, 1, false, more(200), false],
  ['dropped 1.5', { size_dropped: 1.5, next_before_id: 200 }, 1, false, more(200), false],
  ['dropped null', { size_dropped: null, next_before_id: 200 }, 1, false, more(200), false],
  ['size truncated alone (G21)', { size_truncated: true, next_before_id: 200 }, 1, false, more(200), false],
  ['size truncated "no" alone', { size_truncated: 'no', next_before_id: 200 }, 1, false, more(200), false],
  [
    'a clipped body (G22)',
    { size_truncated: true, size_dropped: 0, next_before_id: null },
    0,
    true,
    end,
    false,
  ],
  ['no continuation (G6, G19)', {}, 1, false, unreadable, false],
  ['dropped 2, no continuation', { size_dropped: 2 }, 2, false, unreadable, false],
  ['continuation "150" (G7)', { next_before_id: '150' }, 1, false, unreadable, false],
  ['continuation 1.5 (G7)', { next_before_id: 1.5 }, 1, false, unreadable, false],
  ['continuation true (G7)', { next_before_id: true }, 1, false, unreadable, false],
  ['continuation -1 (G7)', { next_before_id: -1 }, 1, false, unreadable, false],
  ['continuation [] (G7)', { next_before_id: [] }, 1, false, unreadable, false],
  ['continuation 0', { truncated: true, next_before_id: 0 }, 1, false, more(0), false],
  ['truncated and the end (G10, G18)', { truncated: true, next_before_id: null }, 1, false, end, true],
  ['dropped 2 and the end', { size_dropped: 2, next_before_id: null }, 2, false, end, true],
  [
    'nothing, and more (G11, G17)',
    { truncated: false, size_dropped: 0, next_before_id: 150 },
    1,
    false,
    more(150),
    true,
  ],
]

t.test('page - says what it withheld, or that it cannot be told (KS-20)', async t => {
  for (const [what, members, omitted, isExact, continuation, isContradictory] of WITHHELD) {
    const page = pageOf({ result: rows(200), ...members })
    t.match(page, { omitted, isExact, continuation, isContradictory }, what)
    t.equal(page.isClipped, what.includes('clipped'), what)
  }
})

t.test(
  'page - a newest one without rows that withholds some is a breach, one of a walk is not (KS-21, G25, G9)',
  async t => {
    const body = { result: [], truncated: true, next_before_id: 100 }
    t.match(judge(body), { ok: false, failure: { token: 'shape-invalid' } })
    t.match(judge(body, false), { ok: true, value: { rows: [], omitted: 1, continuation: more(100) } })
    t.match(judge({ result: [] }), { ok: false }, 'an unreadable continuation withholds too')
    t.match(judge({ result: [], next_before_id: null }), { ok: true })
  },
)

t.test('page - of the local dialect is complete, whatever it says (KS-1, G35)', async t => {
  for (const [what, members] of WITHHELD) {
    t.match(
      pageOf({ result: rows(5, 6), unread_not_shown: 4, ...members }, true, 'local'),
      { omitted: 0, isExact: true, continuation: end, isContradictory: false, isClipped: false },
      what,
    )
  }
})

t.test('page - makes a statement about unread mail it does not show, or none (KS-62, H7)', async t => {
  const said = (value: unknown): unknown =>
    pageOf({ result: rows(1), next_before_id: null, unread_not_shown: value }).unreadNotShown
  t.equal(said(3), 3)
  t.equal(said(0), 0)
  for (const value of ['4', 1.5, true, -1, null, undefined, [], 2 ** 60]) t.equal(said(value), undefined)
  t.equal(pageOf({ result: rows(1), unread_not_shown: 3 }, true, 'local').unreadNotShown, undefined)
})

t.test('body - nests as deep as any reader bears, and no deeper (KS-9, D11)', async t => {
  const nested = (levels: number): Buffer => Buffer.from('['.repeat(levels) + ']'.repeat(levels))
  t.equal(parseBody(nested(256)).ok, true)
  t.match(parseBody(nested(257)), { ok: false, failure: { reason: 'parse-fail: nested deeper than 256' } })
  t.equal(
    parseBody(Buffer.from(JSON.stringify({ result: [{ id: 1, content: '[{"\\'.repeat(5000) }] }))).ok,
    true,
  )
})

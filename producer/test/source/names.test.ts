import { judgeCounts, judgeDirectory } from '@kim/producer/internal'
import t from 'tap'

const NAMES = [
  'argus',
  'Argus',
  '../../etc/x',
  'constructor',
  '__proto__',
  '🦉',
  ' argus ',
  'x'.repeat(300),
  'é'.repeat(512),
  'a b\n',
]
const NO_NAMES: readonly unknown[] = [
  '',
  5,
  null,
  {},
  [],
  true,
  undefined,
  '\ud800',
  'a\udfffb',
  `${'é'.repeat(512)}x`,
]

t.test('directory - every well-formed text is a name, exact and once (KS-11, KS-68, KS-70)', async t => {
  const judged = judgeDirectory({ result: [...NAMES, ...NAMES].map(persona => ({ persona })) })
  t.same(judged.ok && judged.value.entries.map(({ persona }) => persona), NAMES)
  t.same(judged.ok && judged.value.refused, [])
})

t.test(
  'directory - a row without a usable name is skipped and named, safe to print (KS-11, KS-70)',
  async t => {
    const bad = [
      ...NO_NAMES.map(persona => ({ persona })),
      1,
      null,
      ['argus'],
      { persona: '\u001b[31m\ud800' },
    ]
    const judged = judgeDirectory({ result: [...bad, ...bad, { persona: 'argus' }] })
    t.ok(judged.ok)
    if (!judged.ok) return
    t.same(
      judged.value.entries.map(({ persona }) => persona),
      ['argus'],
    )
    t.same(judged.value.refused, [
      '""',
      'a row without a name',
      '"\\ud800"',
      '"a\\udfffb"',
      `"${'é'.repeat(80)}"`,
      '"\\x1b[31m\\ud800"',
    ])
  },
)

t.test('directory - a flood of bad names is counted, not printed', async t => {
  const flood = Array.from({ length: 5000 }, (_, n) => ({ persona: `${n}\ud800` }))
  const judged = judgeDirectory({ result: [{ persona: 'argus' }, ...flood] })
  t.same(judged.ok && judged.value.refused.length, 21)
  t.same(judged.ok && judged.value.refused.at(-1), 'and 4980 more')
})

t.test('directory - members of another type are unknown, never 0 (KS-11)', async t => {
  const cases: readonly (readonly [object, object])[] = [
    [{}, { memoryCount: undefined, readCount: undefined, isRetired: false, isWriteOnly: false }],
    [
      { memory_count: 0, mail_total: 5, unread: 2, retired: true, write_only: true },
      { memoryCount: 0, readCount: 3, isRetired: true, isWriteOnly: true },
    ],
    [
      { memory_count: true, mail_total: 5, unread: true },
      { memoryCount: undefined, readCount: undefined },
    ],
    [
      { memory_count: -1, mail_total: 2, unread: 5 },
      { memoryCount: undefined, readCount: undefined },
    ],
    [
      { memory_count: '7', mail_total: '5', unread: 2 },
      { memoryCount: undefined, readCount: undefined },
    ],
    [
      { memory_count: 1.5, mail_total: 5, retired: 'true', write_only: 1 },
      { memoryCount: undefined, readCount: undefined, isRetired: false, isWriteOnly: false },
    ],
    [
      { projects: [{ count: 61 }], mail_total: 0, unread: 0 },
      { memoryCount: undefined, readCount: 0 },
    ],
  ]
  for (const [row, expected] of cases) {
    const judged = judgeDirectory({ result: [{ persona: 'argus', ...row }] })
    t.same(judged.ok && judged.value.entries[0], {
      persona: 'argus',
      memoryCount: undefined,
      readCount: undefined,
      isRetired: false,
      isWriteOnly: false,
      ...expected,
    })
  }
})

t.test(
  'directory - without one usable row, or with more than 2000, it is no directory (KS-12, A12)',
  async t => {
    const many = (count: number): object => ({
      result: Array.from({ length: count }, (_, n) => ({ persona: `p${n}` })),
    })
    for (const body of [
      { result: {} },
      [],
      { result: [] },
      { result: [{ persona: '' }, 5] },
      null,
      many(2001),
    ]) {
      t.match(judgeDirectory(body), { ok: false, failure: { token: 'shape-invalid' } })
    }
    t.equal(judgeDirectory(many(2000)).ok, true)
  },
)

t.test('counts - rows of no use say nothing, mistyped counts are 0 or no statement (KS-13, F13)', async t => {
  const judged = judgeCounts({
    result: [
      1,
      { persona: 5, unread: 3 },
      { persona: 'argus', unread: '3', unread_urgent: true },
      { persona: 'river', unread: 2, unread_urgent: 0 },
      { persona: 'loom', unread: -1, unread_urgent: -1 },
      { persona: '__proto__', unread: 1.5, unread_urgent: 1 },
      { persona: 'twice', unread: 3, unread_urgent: 1 },
      { persona: 'twice', unread: 0 },
      { persona: 'x\ud800', unread: 1 },
    ],
    cursor: 'c1',
  })
  t.ok(judged.ok)
  if (!judged.ok) return
  t.same(
    [...judged.value.byPersona],
    [
      ['argus', { unread: 0, unreadUrgent: undefined }],
      ['river', { unread: 2, unreadUrgent: 0 }],
      ['loom', { unread: 0, unreadUrgent: undefined }],
      ['__proto__', { unread: 0, unreadUrgent: 1 }],
      ['twice', { unread: 3, unreadUrgent: 1 }],
    ],
  )
  t.same(judged.value.refused, ['a row without a name', '"x\\ud800"'])
  t.equal(judged.value.cursor, 'c1')
})

t.test('counts - a token is a non-empty text that fits an address (KS-14, F7)', async t => {
  const cursorOf = (cursor: unknown): unknown => {
    const judged = judgeCounts({ result: [], cursor })
    return judged.ok ? judged.value.cursor : 'failed'
  }
  t.equal(cursorOf('x'.repeat(4096)), 'x'.repeat(4096))
  for (const cursor of [undefined, '', 5, null, ['c'], {}, '\ud800', 'x'.repeat(4097)])
    t.equal(cursorOf(cursor), undefined)
})

t.test('counts - anything but an object with an array is unavailable (KS-15, F12)', async t => {
  for (const body of ['text', [], { result: {} }, {}, null]) {
    t.match(judgeCounts(body), { ok: false, failure: { token: 'shape-invalid' } })
  }
  t.match(judgeCounts({ result: [] }), { ok: true, value: { cursor: undefined, refused: [] } })
})

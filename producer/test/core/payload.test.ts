import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { CoreHarness, cut, entry, failure, type RowLike, whole } from './core-harness.js'

const folder = fileURLToPath(new URL('../../../manifest/schema/', import.meta.url))
const ajv = new Ajv2020({ allErrors: true, strictRequired: false })
const schemas = new Map(
  ['message', 'persona', 'alert', 'note-registry-genesis'].map(name => [
    name,
    ajv.compile(JSON.parse(readFileSync(`${folder}${name}.json`, 'utf8')) as object),
  ]),
)

/** Every record of a desk whose payload its schema refuses. */
function refused(desk: CoreHarness): string[] {
  return desk.records().flatMap(({ seq, item_type, payload }) => {
    const validate = schemas.get(item_type === 'journal' ? 'note-registry-genesis' : item_type)
    return validate?.(payload) === true ? [] : [`${seq} ${item_type}: ${JSON.stringify(validate?.errors)}`]
  })
}

const kinds = (desk: CoreHarness): string[] => [
  ...new Set(
    desk
      .records()
      .map(({ item_type, event, payload }) => `${item_type} ${event ?? payload?.['status'] ?? ''}`),
  ),
]

t.test('payloads - every record of a full life is as its schema says (KS-41)', async t => {
  const directory = (): ReturnType<typeof entry>[] => [
    entry('argus'),
    entry('debris', { readCount: 0, isRetired: true }),
  ]
  const desk = new CoreHarness(
    t,
    { personas: undefined, fastPath: true, alertAfter: 1, maxReplay: 1, rediscoverSeconds: 5 },
    { directory, counts: () => ({ argus: [1, 1] as const, debris: 1 }), page: () => whole([100]) },
  ).pass(2000)
  const rows: RowLike[] = [
    { id: 200, from: null, content: 'a\ud800b' },
    { id: 201, read: true },
  ]
  const hidden = cut(rows, { unreadNotShown: 2 })
  desk.script.page = ({ beforeId }) => (beforeId === undefined ? hidden : failure())
  desk.restart().pass(2000)
  desk.script.page = () => failure(undefined)
  desk.pass(2000)
  desk.script.page = () => whole([90, 100, 150, ...rows, { id: 202 }], { isClipped: true, unreadNotShown: 0 })
  desk.script.directory = () => [...directory(), entry('river')]
  desk.pass(8000)
  desk.script.page = () => whole([1])
  desk.pass(8000)
  desk.script.counts = () => ({})
  desk.pass(3000)
  t.same(refused(desk), [])
  for (const kind of [
    'persona replay_capped',
    'persona persona_added',
    'alert alert',
    'alert recovered',
    'alert cleared',
  ]) {
    t.ok(kinds(desk).includes(kind), kind)
  }
  const alarms = new Set(
    desk
      .records()
      .filter(({ item_type }) => item_type === 'alert')
      .map(({ payload }) => payload?.['kind']),
  )
  t.same([...alarms].sort(), [
    'bounded-window',
    'id-regressed',
    'stranded-mail',
    'unreachable',
    'unread-not-shown',
    'urgent-unanswered',
  ])
  await desk.store.verified(t)
})

t.test('payloads - seeds, damage and baselines are as their schema says (KS-41)', async t => {
  const seeded = new CoreHarness(t, { seedAt: 600 }, { page: () => whole([3]) }).settle()
  t.same(refused(seeded), [])
  const damaged = new CoreHarness(t, {}, { page: () => whole([3]) })
  damaged.startOn({ isWhole: true, holes: [{ from: 4, to: 5 }] }).settle()
  t.same(refused(damaged), [])
  t.ok(kinds(damaged).includes('persona state_corrupt'))
})

t.test('genesis - names that do not fit one note go into several (KS-40)', async t => {
  const names = Array.from({ length: 60 }, (_, n) => `${n}-${'x'.repeat(300)}`)
  const desk = new CoreHarness(t, { personas: names }).settle()
  const notes = desk.records().filter(({ item_type }) => item_type === 'journal')
  t.same(
    notes.map(({ payload }) => [payload?.['part'], payload?.['parts']]),
    [
      [1, 3],
      [2, 3],
      [3, 3],
    ],
  )
  t.same(new Set(notes.flatMap(({ payload }) => payload?.['personas'])), new Set(names))
  t.same(refused(desk), [])
  await desk.store.verified(t)
})

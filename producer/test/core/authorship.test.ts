import t from 'tap'
import { CoreHarness, whole } from './core-harness.js'

/** What the urgent alarm says of loom, whose urgent mail came with id 10: it stands only on a plain "no" (KS-71). */
function isTold(
  t: import('tap').Test,
  others: Parameters<typeof whole>[0],
  more: Parameters<typeof whole>[1] = {},
): boolean {
  const desk = new CoreHarness(
    t,
    { personas: undefined, fastPath: true },
    {
      directory: () => ['a', 'loom'],
      counts: () => ({ loom: [1, 1] as const, a: 1 }),
      page: ({ persona }) => (persona === 'loom' ? whole([10]) : whole(others, more)),
    },
  ).pass(2000)
  const told = (): boolean => desk.payload('alert', 'a/urgent-unanswered')?.['status'] === 'open'
  const first = told()
  desk.restart().pass(2000)
  t.equal(told(), first, 'the same after a restart')
  return first
}

const by = (from: string, id: number): { id: number; from: string } => ({ id, from })
const withheld = { omitted: 3, isExact: true, continuation: { kind: 'more', beforeId: 12 } } as const

t.test('has written - yes, no and unknown (KS-71)', async t => {
  t.equal(isTold(t, [by('loom', 9)]), true, 'no: its last is older')
  t.equal(isTold(t, [by('loom', 11)]), false, 'yes: one is newer')
  t.equal(
    isTold(t, [by('river', 12)], withheld),
    false,
    'unknown: an inbox was observed only from a later id on',
  )
  t.equal(isTold(t, [by('Loom', 11)]), true, 'another spelling is another author')
})

import { classifyWalkPage, holesBelow, parseHoles, phaseOf, walkMember } from '@kim/producer/internal'
import t from 'tap'
import { cut, whole } from './core-harness.js'

t.test('walk - the table of KS-23, row by row', async t => {
  const judge = (page: Parameters<typeof classifyWalkPage>[0]) => classifyWalkPage(page, 200, 100)
  t.equal(judge(undefined), 'failed', '1')
  t.equal(judge(cut([150, 200])), 'rejected', '2')
  t.equal(judge(whole([150], { continuation: { kind: 'unreadable' } })), 'open', '3')
  t.equal(judge(whole([150], { isContradictory: true })), 'open', '4')
  t.equal(judge(cut([], { continuation: { kind: 'more', beforeId: 150 } })), 'open', '5')
  t.equal(judge(whole([])), 'covered', '6')
  t.equal(judge(cut([90, 150], { continuation: { kind: 'more', beforeId: 80 } })), 'open', '7')
  t.equal(judge(cut([100, 150])), 'covered', '8')
  t.equal(judge(whole([150])), 'covered', '9')
  t.equal(judge(cut([150])), 'on', '10')
})

t.test('holes - a window trims, opens and extends them (KS-22, KS-25)', async t => {
  const after = (holes: Parameters<typeof holesBelow>[0], floor: number, top: number, reach = 100) =>
    holesBelow(holes, { floor, top, reach }).map(({ above, below }) => [above, below])
  t.same(after([], 200, 100), [[100, 200]])
  t.same(after([], 101, 100), [], 'nothing can lie between')
  t.same(after([{ above: 100, below: 180 }], 150, 260), [[100, 150]], 'what is shown is seen')
  t.same(
    after([{ above: 100, below: 180 }], 300, 260),
    [
      [100, 180],
      [260, 300],
    ],
    'a later one',
  )
  t.same(after([{ above: 100, below: 180 }], 300, 100), [[100, 300]], 'nothing above it came to stand')
  t.same(
    after(
      [
        { above: 100, below: 180 },
        { above: 260, below: 300 },
      ],
      101,
      400,
    ),
    [],
  )
})

t.test('holes - so many are remembered one by one, more become one (KS-25)', async t => {
  let holes: ReturnType<typeof parseHoles> = []
  for (let n = 0; n < 20; n++)
    holes = holesBelow(holes, { floor: 200 + n * 100, top: 100 + n * 100, reach: 100 })
  t.equal(holes.length, 8)
  t.same([holes[0]?.above, holes.at(-1)?.below], [100, 2100], 'and none is forgotten')
  t.same(parseHoles(100, walkMember(holes)), holes, 'as a pin keeps them')
})

t.test('holes - a pin without facts about its walk is walked again (KS-25)', async t => {
  for (const walk of [undefined, null, 3, [], {}, { proven_down_to: 'x' }]) {
    t.same(parseHoles(100, walk), [{ above: 100, below: Number.MAX_SAFE_INTEGER }])
  }
})

t.test('phases - are apart and spread evenly, however many there are (KS-55)', async t => {
  const phases = Array.from({ length: 200 }, (_, n) => phaseOf(n)).sort((a, b) => a - b)
  t.equal(phases[0], 0)
  const gaps = phases.map((phase, n) => phase - (phases[n - 1] ?? 0)).slice(1)
  t.ok(Math.min(...gaps) >= 1 / 256 && Math.max(...gaps) <= 1 / 128)
})

import t from 'tap'
import { isSoak, Prng, SimClock, seedsToRun } from './index.js'

t.test('prng - a seed is a sequence', async t => {
  const draw = (seed: number): number[] => {
    const random = new Prng(seed)
    return Array.from({ length: 20 }, () => random.u32())
  }
  t.same(draw(7), draw(7))
  t.notSame(draw(7), draw(8))
  t.equal(new Set(draw(0)).size, 20, 'seed 0 is a seed like another')
})

t.test('prng - ranges hold and are reached', async t => {
  const random = new Prng(3)
  const seen = new Set<number>()
  for (let i = 0; i < 1000; i++) seen.add(random.between(2, 5))
  t.same([...seen].sort(), [2, 3, 4, 5])
  let heads = 0
  for (let i = 0; i < 10_000; i++) heads += random.chance(0.25) ? 1 : 0
  t.ok(heads > 2200 && heads < 2800, `${heads} of 10000 at a quarter`)
  const drawn = { rare: 0, often: 0, never: 0 }
  for (let i = 0; i < 10_000; i++) drawn[random.weighted({ rare: 1, often: 9, never: 0 })]++
  t.ok(drawn.rare > 800 && drawn.rare < 1200 && drawn.never === 0)
  t.match(random.hex(8), /^[0-9a-f]{16}$/)
  t.throws(() => random.pick([]), RangeError)
})

t.test('prng - KIM_SEED replays one seed, and a bad one is refused', async t => {
  t.same(seedsToRun(3, 10, {}), [10, 11, 12])
  t.same(seedsToRun(3, 10, { KIM_SEED: '77' }), [77])
  for (const bad of ['x', '-1', '1.5', '4294967296'])
    t.throws(() => seedsToRun(3, 1, { KIM_SEED: bad }), RangeError)
  t.equal(isSoak({ KIM_SOAK: '1' }), true)
  t.equal(isSoak({}), false)
})

t.test('sim-clock - only wall time jumps', async t => {
  const clock = new SimClock(5000, 100)
  clock.advance(10)
  clock.jumpWall(-3000)
  t.same([clock.wallMs(), clock.monoMs()], [2010, 110])
  t.throws(() => clock.advance(-1), RangeError)
  t.equal(clock.bootMs() - clock.monoMs(), 5000)
})

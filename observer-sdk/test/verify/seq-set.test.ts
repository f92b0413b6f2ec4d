import { SeqSet } from '@kim/observer-sdk/internal'
import t from 'tap'

t.test('seq set - agrees with a plain set, whatever the order', async t => {
  // A small generator of its own, so that a failure can be repeated.
  let state = 7
  const random = (below: number): number => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
    return state % below
  }
  for (let round = 0; round < 200; round += 1) {
    const ranges = new SeqSet()
    const plain = new Set<number>()
    for (let step = 0; step < 60; step += 1) {
      const from = 1 + random(80)
      if (random(4) === 0) {
        const to = from + random(10)
        ranges.addRange({ from, to })
        for (let seq = from; seq <= to; seq += 1) plain.add(seq)
      } else {
        ranges.add(from)
        plain.add(from)
      }
    }
    for (let from = 1; from <= 92; from += 1) {
      if (ranges.has(from) !== plain.has(from)) t.fail(`round ${round}: has ${from}`)
      const to = from + random(12)
      const missing: number[] = []
      for (let seq = from; seq <= to; seq += 1) if (!plain.has(seq)) missing.push(seq)
      const parts = ranges.missingIn({ from, to })
      const listed = parts.flatMap(part =>
        Array.from({ length: part.to - part.from + 1 }, (_, i) => part.from + i),
      )
      if (listed.join() !== missing.join()) t.fail(`round ${round}: missing in ${from}…${to}`)
      if (ranges.covers({ from, to }) !== (missing.length === 0))
        t.fail(`round ${round}: covers ${from}…${to}`)
      if (parts.some((part, at) => at > 0 && part.from <= (parts[at - 1]?.to ?? 0) + 1)) t.fail('parts touch')
    }
  }
  t.ok(new SeqSet().covers({ from: 5, to: 4 }), 'an empty range is covered')
})

import type { TailFeatures } from '@kim/manifest'
import { classifyTail, TAIL_ROWS } from '@kim/manifest'
import t from 'tap'

const lines: TailFeatures['lines'][] = ['barren', 'records', 'open_run']
const fragments: TailFeatures['fragment'][] = ['none', 'blank', 'record', 'future', 'malformed']

t.test('tail - every combination of features meets exactly one row, RC-2', async t => {
  const met = new Set<string>()
  let combinations = 0
  for (const line of lines) {
    for (const fragment of fragments) {
      combinations++
      const rows = TAIL_ROWS.filter(row => row.lines === line && row.fragments.includes(fragment))
      t.equal(rows.length, 1, `${line} ${fragment}`)
      t.equal(classifyTail({ lines: line, fragment }), rows[0]?.label)
      met.add(classifyTail({ lines: line, fragment }))
    }
  }
  t.equal(combinations, 15)
  t.equal(met.size, TAIL_ROWS.length, 'every row is met')
})

t.test('tail - rows that decide between ending a line and adjudicating it', async t => {
  t.equal(classifyTail({ lines: 'records', fragment: 'none' }), 'T1')
  t.equal(classifyTail({ lines: 'records', fragment: 'record' }), 'T2')
  t.equal(classifyTail({ lines: 'records', fragment: 'malformed' }), 'T3')
  t.equal(classifyTail({ lines: 'open_run', fragment: 'none' }), 'T4')
  t.equal(classifyTail({ lines: 'open_run', fragment: 'future' }), 'T6')
  t.equal(classifyTail({ lines: 'barren', fragment: 'blank' }), 'T9')
  t.throws(() => classifyTail({ lines: 'records', fragment: 'other' as 'none' }), { name: 'InvariantError' })
})

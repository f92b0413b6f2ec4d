import { classifyTail, TAIL_ROWS, type TailFeatures } from '@kim/manifest'
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
      t.equal(classifyTail({ lines: line, fragment }), rows[0])
      met.add(rows[0]?.label ?? '')
    }
  }
  t.equal(combinations, 15)
  t.equal(met.size, TAIL_ROWS.length, 'every row is met')
})

t.test('tail - a combination that cannot be is our own bug', async t => {
  t.throws(() => classifyTail({ lines: 'records', fragment: 'other' as 'none' }), { name: 'InvariantError' })
})

t.test('tail - a row ends a line if there is one, and says what becomes of it (RC-9)', async t => {
  for (const { label, lines, fragments, actions } of TAIL_ROWS) {
    t.equal(actions[0] === 'end_line', !fragments.includes('none'), label)
    t.equal(actions.includes('adopt'), fragments.includes('record'), label)
    t.equal(actions.includes('adjudicate'), fragments.includes('malformed'), label)
    const isDecided = !fragments.includes('record')
    t.equal(actions.includes('abandon'), isDecided && lines === 'open_run', label)
    t.equal(actions.includes('begin'), isDecided && lines === 'barren', label)
    t.equal(new Set(actions).size, actions.length, label)
  }
})

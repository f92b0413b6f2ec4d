import t from 'tap'
import { tinyBench } from './tiny-bench.js'

// There is no tail to stand beside on Windows.
const skip = process.platform === 'win32'

t.test('bench warm - every line arrives once, and no byte is read twice, OB-16', { skip }, async t => {
  const rows = tinyBench(t, 'warm')
  const isWhole = ([title]: readonly [string, unknown]): boolean => !title.includes('first')
  const whole = Object.entries(rows).filter(isWhole)
  t.same(
    whole.map(([title]) => title),
    ['', ', with batches'].flatMap(load =>
      ['tail -F', 'one observer', 'twenty observers'].map(who => `${who}${load}`),
    ),
  )
  for (const [title, row] of whole) {
    t.equal(row['missed'], 0, title)
    t.ok((row['p50_ms'] ?? 0) > 0, `${title}: ${row['p50_ms']} ms`)
    if (title.startsWith('tail -F')) continue
    // A line that was met half written is read again from its start.
    t.ok(
      (row['read_ratio'] ?? 9) < 1.25,
      `${title}: ${row['read_ratio']} bytes read for each that was appended`,
    )
    if (title.startsWith('twenty observers'))
      t.ok((row['read_ratio'] ?? 9) < 0.5, 'what one read the others need not')
    // One holds the segment; where the others are not where it was, they open it.
    const opens = title.startsWith('one observer') ? 0.1 : 0.5
    t.ok((row['openSync'] ?? 0) <= opens, `${title}: ${row['openSync']} opens a record`)
  }
})

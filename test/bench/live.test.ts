import t from 'tap'
import { tinyBench } from './tiny-bench.js'

// There is no tail to stand beside on Windows.
const skip = process.platform === 'win32'

t.test('bench live - every append comes, while segments roll and are archived', { skip }, async t => {
  const rows = tinyBench(t, 'live')
  t.strictSame(Object.keys(rows), ['tail -F', 'one observer', 'twenty observers'])
  for (const [title, row] of Object.entries(rows)) {
    t.equal(row['missed'], 0, title)
    t.ok((row['archived'] ?? 0) > 0, `${title}: ${row['archived']} files were archived meanwhile`)
    t.ok((row['p50_ms'] ?? 0) > 0, `${title}: ${row['p50_ms']} ms`)
  }
  t.equal(rows['twenty observers']?.['appends'], 20 * (rows['one observer']?.['appends'] ?? 0))
})

import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const bench = join(dirname(fileURLToPath(import.meta.url)), 'live.bench.js')

// There is no tail to stand beside on Windows.
const skip = process.platform === 'win32'

t.test('bench live - every append comes, while segments roll and are archived', { skip }, t => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bench, '--tiny', '--json'], {
    encoding: 'utf8',
  })
  t.equal(status, 0, stderr)
  const { rows } = JSON.parse(stdout)
  t.strictSame(Object.keys(rows), ['tail -F', 'one observer', 'twenty observers'])
  for (const [title, row] of Object.entries<Record<string, number>>(rows)) {
    t.equal(row['missed'], 0, title)
    t.ok((row['archived'] ?? 0) > 0, `${title}: ${row['archived']} files were archived meanwhile`)
    t.ok((row['p50_ms'] ?? 0) > 0, `${title}: ${row['p50_ms']} ms`)
  }
  t.equal(rows['twenty observers'].appends, 20 * rows['one observer'].appends)
  t.end()
})

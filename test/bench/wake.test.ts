import t from 'tap'
import { tinyBench } from './tiny-bench.js'

t.setTimeout(180_000)

// There is no tail to stand beside on Windows.
const skip = process.platform === 'win32'

t.test('bench wake - every message becomes a line, ours and the bare one', { skip }, async t => {
  const rows = tinyBench(t, 'wake')
  for (const title of ['3 personas, bare', '3 personas', '200 personas, bare', '200 personas']) {
    t.equal(rows[title]?.['missed'], 0, title)
    t.ok((rows[title]?.['p50_ms'] ?? 0) > 0, `${title}: ${rows[title]?.['p50_ms']} ms`)
  }
  t.ok((rows['quiet, 200 personas']?.['requests_per_minute'] ?? 999) < 300, 'a quiet hive is left in peace')
  const memory = Object.entries(rows).find(([title]) => title.startsWith('memory'))?.[1]
  t.ok((memory?.['messages_per_s'] ?? 0) > 0, `${memory?.['messages_per_s']} messages taken in a second`)
})

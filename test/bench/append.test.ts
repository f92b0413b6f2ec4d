import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const bench = join(dirname(fileURLToPath(import.meta.url)), 'append.bench.js')

t.test('bench append - runs, and measures what it says', async t => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bench, '--tiny', '--json'], {
    encoding: 'utf8',
  })
  t.equal(status, 0, stderr)
  const { line_bytes, single, batch, checkpoint } = JSON.parse(stdout)
  t.ok(Math.abs(line_bytes - 500) <= 5, `a line has ${line_bytes} bytes, as many as a raw record`)
  t.ok(single.raw_p50_ms > 0 && single.ratio > 0, 'single appends stand beside raw ones')
  t.ok(batch.raw_per_s > 0 && batch.per_s > 0, 'so do batches')
  t.equal(checkpoint.built, 2, 'a checkpoint was built from nothing and one from it')
  t.ok(checkpoint.wait_max_ms >= checkpoint.append_max_ms, 'a wait is never shorter than its append')
})

t.test('bench append - prints a table with targets', async t => {
  const { stdout } = spawnSync(process.execPath, [bench, '--tiny'], { encoding: 'utf8' })
  t.match(stdout, /^append {2}load [\d.]+ on \d+ cores\n/)
  t.match(stdout, /single, p50 of \d+ .* x +<= 1\.3 x +(ok|MISS)\n/)
  t.match(stdout, />= 100000 \/s +(ok|MISS)\n/)
  t.match(stdout, /<= 100 ms +(ok|MISS)\n/)
})

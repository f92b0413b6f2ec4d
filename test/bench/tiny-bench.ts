import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

/** What a bench measures when it is told to be small. */
export function tinyBench(t: Test, name: string): Record<string, Record<string, number>> {
  const script = join(dirname(fileURLToPath(import.meta.url)), `${name}.bench.js`)
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--tiny', '--json'], {
    encoding: 'utf8',
  })
  t.equal(status, 0, stderr)
  return JSON.parse(stdout).rows
}

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/**
 * A directory of this run's own, deleted with its test. The test runner's is named after file and title: a file that
 * runs twice at a time, as where a fault is planted into it, would take its own store away.
 */
export function homeOf(t: Test, below: string = tmpdir()): string {
  const home = mkdtempSync(join(below, 'kim-test-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true, maxRetries: 5 }))
  return home
}

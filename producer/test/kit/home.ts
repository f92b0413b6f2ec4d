import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** A directory that is deleted with its test. */
export function homeOf(t: Test): string {
  const home = mkdtempSync(join(tmpdir(), 'kim-test-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  return home
}

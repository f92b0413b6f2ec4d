import type { Input, Io } from '@kim/cli-kit'
import { repairStore } from '../../journal/repair.js'
import { storeOptions } from '../open-store.js'
import { report } from '../report.js'

/** Makes a damaged journal one that verifies, and says what that took. */
export function run(input: Input, io: Io): number {
  const dryRun = input.bool('dry-run')
  const found = repairStore({ ...storeOptions(input, io), dryRun })
  const lines = [
    ...found.irregular.map(path => `not a file: ${path} → quarantine/`),
    ...found.checkpoints.map(name => `checkpoint that nothing vouches for: ${name} → quarantine/`),
    ...found.lines.map(
      ({ segment, from, to }) =>
        `no record: ${segment}, bytes ${from}–${to}; copied to quarantine/ and noted`,
    ),
    ...found.runs.map(id => `incomplete transaction: ${id}; noted`),
    ...found.holes.map(({ from, to }) => `numbers without a record: ${from}–${to}; noted`),
  ]
  const head = lines.length === 0 ? 'nothing to repair' : dryRun ? 'would repair:' : 'repaired:'
  report(input, io, { dry_run: dryRun, ...found }, [head, ...lines.map(line => `  ${line}`)])
  return 0
}

import { type Input, type Io, withProgress } from '@kim/cli-kit'
import { storePaths } from '@kim/manifest'
import { verifyJournal } from '@kim/observer-sdk/verify'
import { repairStore } from '../../journal/repair.js'
import { storeOptions } from '../open-store.js'
import { openingLines } from '../opening-lines.js'
import { isRepairable } from '../repairable.js'
import { report } from '../report.js'

/** Sets aside and names what is damaged, and says what that leaves. Exit 1 where the journal stays corrupt. */
export async function run(input: Input, io: Io): Promise<number> {
  const dryRun = input.bool('dry-run')
  const options = storeOptions(input, io)
  const { opening, ...found } = repairStore({ ...options, dryRun })
  const left = await leftOver(options.storeDir, dryRun, io)
  const lines = [
    ...found.irregular.map(path => `not a regular file: ${path} → quarantine/`),
    ...found.checkpoints.map(name => `checkpoint that no record confirms: ${name} → quarantine/`),
    ...found.lines.map(
      ({ segment, from, to }) =>
        `not a record: ${segment}, bytes ${from}–${to}; copied to quarantine/ and noted`,
    ),
    ...found.runs.map(id => `incomplete transaction: ${id}; noted`),
    ...found.holes.map(({ from, to }) => `seqs without a record: ${from}–${to}; noted`),
  ]
  const stays = Object.entries(left).map(([kind, count]) => `${kind} × ${count.toLocaleString('en-US')}`)
  const facts = { dry_run: dryRun, ...found, left, ...(opening === undefined ? {} : { opening }) }
  report(input, io, facts, [
    headLine(lines.length, stays.length, dryRun),
    ...lines.map(line => `  ${line}`),
    ...(stays.length === 0 ? [] : [`not repairable; verify still reports: ${stays.join(', ')}`]),
    ...openingLines(opening),
  ])
  return stays.length === 0 ? 0 : 1
}

function headLine(lines: number, stays: number, dryRun: boolean): string {
  if (lines === 0) return stays === 0 ? 'nothing to repair' : 'nothing that can be repaired'
  if (stays === 0) return dryRun ? 'would repair:' : 'repaired:'
  return dryRun ? 'would copy to quarantine/ and note:' : 'copied to quarantine/ and noted:'
}

/** What verify finds wrong after the repair, by kind; before one, what a repair would not touch. */
async function leftOver(storeDir: string, dryRun: boolean, io: Io): Promise<Record<string, number>> {
  const { events: eventsDir } = storePaths(storeDir)
  const { findings } = await withProgress(io, 'verify', control => verifyJournal({ eventsDir, ...control }))
  const wrong = Object.entries(findings).filter(
    ([kind, { weight }]) => weight > 0 && !(dryRun && isRepairable(kind)),
  )
  return Object.fromEntries(wrong.map(([kind, { count }]) => [kind, count]))
}

import { formatCount, type Input, type Io } from '@kim/cli-kit'
import { parseCheckpointName, storePaths } from '@kim/manifest'
import type { RehearsedChange } from '../../effects/rehearsal.js'
import type { GcReport } from '../../journal/gc.js'
import type { JournalOptions } from '../../journal/store.js'
import { doneByProducer } from '../ask-producer.js'
import { storeOptions, withJournal, withRehearsal } from '../open-store.js'
import { openingLines } from '../opening-lines.js'
import { report } from '../report.js'

/** Parks what the second-newest verified checkpoint covers. */
export async function run(input: Input, io: Io): Promise<number> {
  const dryRun = input.bool('dry-run')
  const options = { ...storeOptions(input, io), gzip: input.bool('gzip'), gc: false }
  const done: GcReport & { readonly opening?: readonly RehearsedChange[] } =
    (await asked(options, dryRun, io)) ??
    (dryRun
      ? withRehearsal(options, (journal, opening) => ({ ...journal.gcPlan(), opening }))
      : withJournal(options, journal => journal.gc()))
  const { checkpoints, segments, opening } = done
  const verb = dryRun ? 'would move' : 'moved'
  const nothing = segments.length + checkpoints.length === 0
  report(input, io, { dry_run: dryRun, ...done }, [
    nothing
      ? 'nothing to move: no segment is wholly below the second-newest verified checkpoint'
      : `${verb} ${formatCount(segments.length, 'segment')} and ${formatCount(checkpoints.length, 'checkpoint')} to archive/`,
    ...[...segments, ...checkpoints].map(name => `  ${name}`),
    ...openingLines(opening),
  ])
  return 0
}

/** By the producer that holds the store, if one does; it packs nothing. */
async function asked(
  { storeDir, gzip }: JournalOptions,
  dryRun: boolean,
  io: Io,
): Promise<GcReport | undefined> {
  if (gzip === true) return undefined
  const done = await doneByProducer(storePaths(storeDir), 'gc', io, { dry_run: dryRun })
  if (done === undefined) return undefined
  const { moved } = done.result
  const names = Array.isArray(moved) ? moved.map(String) : []
  return {
    segments: names.filter(name => parseCheckpointName(name) === undefined),
    checkpoints: names.filter(name => parseCheckpointName(name) !== undefined),
  }
}

import { formatCount, type Input, type Io } from '@kim/cli-kit'
import type { RehearsedChange } from '../../effects/rehearsal.js'
import type { GcReport } from '../../journal/gc.js'
import { storeOptions, withJournal, withRehearsal } from '../open-store.js'
import { openingLines } from '../opening-lines.js'
import { report } from '../report.js'

/** Parks what the second-newest verified checkpoint covers. */
export function run(input: Input, io: Io): number {
  const dryRun = input.bool('dry-run')
  const options = { ...storeOptions(input, io), gzip: input.bool('gzip'), gc: false }
  const done: GcReport & { readonly opening?: readonly RehearsedChange[] } = dryRun
    ? withRehearsal(options, (journal, opening) => ({ ...journal.gcPlan(), opening }))
    : withJournal(options, journal => journal.gc())
  const { checkpoints, segments, opening } = done
  const verb = dryRun ? 'would move' : 'moved'
  const nothing = segments.length + checkpoints.length === 0
  report(input, io, { dry_run: dryRun, ...done }, [
    nothing
      ? 'nothing to move: no segment lies wholly below the second-newest verified checkpoint'
      : `${verb} ${formatCount(segments.length, 'segment')} and ${formatCount(checkpoints.length, 'checkpoint')} to archive/`,
    ...[...segments, ...checkpoints].map(name => `  ${name}`),
    ...openingLines(opening),
  ])
  return 0
}

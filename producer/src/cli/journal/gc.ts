import { formatCount, type Input, type Io } from '@kim/cli-kit'
import { storeOptions, withJournal } from '../open-store.js'
import { report } from '../report.js'

/** Parks what the second-newest verified checkpoint covers. */
export function run(input: Input, io: Io): number {
  const dryRun = input.bool('dry-run')
  const options = { ...storeOptions(input, io), gzip: input.bool('gzip'), gc: false }
  const { segments, checkpoints } = withJournal(options, journal =>
    dryRun ? journal.gcPlan() : journal.gc(),
  )
  const verb = dryRun ? 'would move' : 'moved'
  const nothing = segments.length + checkpoints.length === 0
  report(input, io, { dry_run: dryRun, segments, checkpoints }, [
    nothing
      ? 'nothing to move: no segment lies wholly below the second-newest verified checkpoint'
      : `${verb} ${formatCount(segments.length, 'segment')} and ${formatCount(checkpoints.length, 'checkpoint')} to archive/`,
    ...[...segments, ...checkpoints].map(name => `  ${name}`),
  ])
  return 0
}

import { KimError } from '@kim/manifest'
import type { Plan } from '../plan.js'
import type { ReportedGap, Reporter } from './reporter.js'

/** Says that records are gone, in the way that was asked for. Where that is the end, what stood before is out. */
export async function tellGap(
  gap: ReportedGap,
  { onGap }: Plan,
  report: Reporter,
  flush: () => Promise<void>,
): Promise<void> {
  if (onGap === 'report') report.gap(gap)
  if (onGap !== 'fail') return
  await flush()
  throw new KimError('gap_found', `records ${gap.from} to ${gap.to} are missing (${gap.reason})`)
}

import type { FindingKind } from '@kim/observer-sdk/verify'

const REPAIRABLE: ReadonlySet<string> = new Set<FindingKind>([
  'checkpoint_corrupt',
  'malformed_line',
  'seq_hole',
  'tx_incomplete',
  'unreadable',
])

/** Whether a repair names or takes away what verify found; everything else that is wrong stays wrong. */
export function isRepairable(kind: string): boolean {
  return REPAIRABLE.has(kind)
}

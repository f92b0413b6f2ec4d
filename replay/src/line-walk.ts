/** The lines of a copied journal in file order, from any place on, until the walker has had enough. */
import { type JournalPoint, type PassPacer, type SegmentWalker, walkSegments } from '@kim/observer-sdk/verify'
import type { CopiedJournal } from './copied-journal.js'

export type { JournalPoint as Mark, SegmentWalker } from '@kim/observer-sdk/verify'

/** Leads a walker through the lines from `from` on; true if the walker ended the walk. */
export async function walkLines(
  { eventsDir, history }: CopiedJournal,
  walker: SegmentWalker,
  pace: PassPacer,
  from?: JournalPoint,
): Promise<boolean> {
  const { segments, listing } = history
  return await walkSegments(eventsDir, { segments, from, failures: listing.failures }, walker, pace)
}

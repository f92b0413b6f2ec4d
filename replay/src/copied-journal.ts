/** A journal that is asked about: its files as of one look, and the id that its event ids are made with. */
import { directoryProjectId, JournalDirectory, readCheckpoint, SegmentSet } from '@kim/observer-sdk/history'
import { namesProject, readMeta } from '@kim/observer-sdk/verify'
import { isOfRedactedBundle } from './bundle/unpacked.js'
import { requireJournal } from './require-journal.js'

/** What every question begins with. */
export interface CopiedJournal {
  readonly eventsDir: string
  readonly history: SegmentSet
  readonly projectId: string
  /** Number of the first segment that can be read; 1 if there is none. */
  readonly first: number
  /** Whether nothing beside the records names a project: their writer need not keep our rules (OB-67). */
  readonly isForeign: boolean
  /** Whether it is a redacted bundle's: a line that was taken out is told of by `verify`, and harms no answer. */
  readonly isRedacted: boolean
}

/** Looks at a journal directory. Throws `no_store` where there is none, `not_permitted` where it may not be read. */
export function openCopy(eventsDir: string): CopiedJournal {
  requireJournal(eventsDir)
  const directory = new JournalDirectory(eventsDir)
  directory.scan()
  const history = new SegmentSet(directory)
  const { statedId } = history
  return {
    eventsDir,
    history,
    projectId: statedId ?? directoryProjectId(eventsDir),
    first: history.first() ?? 1,
    get isForeign() {
      return statedId === undefined && !namesProject(readMeta(eventsDir)) && !hasCheckpoint(history)
    },
    get isRedacted() {
      return isOfRedactedBundle(eventsDir)
    },
  }
}

function hasCheckpoint({ eventsDir, listing }: SegmentSet): boolean {
  return listing.checkpoints.some(entry => readCheckpoint(eventsDir, entry) !== undefined)
}

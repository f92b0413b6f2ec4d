/** A journal for reports: its checkpoints, and passes over all of its lines, besides its records. */
import { runInTurns } from '@kim/manifest'
import type { CheckpointEntry, SegmentEntry, StoreListing } from './store/listing.js'
import { type CheckpointDocument, checkpointVerifier, readCheckpoint } from './tail/checkpoints.js'
import { JournalDirectory } from './tail/directory.js'
import { JournalHistory } from './tail/history.js'
import { SegmentSet } from './tail/segment-set.js'
import { type PassControl, PassPacer, segmentBytes } from './verify/pace.js'
import { namesProject, readMeta } from './verify/verify.js'
import { type JournalPoint, type SegmentWalker, walkSegments } from './verify/walk.js'

/** Opens a journal for passes over all of its lines. It never throws: an absent directory has no segments. */
export function openJournalCopy(eventsDir: string): JournalCopy {
  const directory = new JournalDirectory(eventsDir)
  directory.scan()
  return new JournalCopy(directory)
}

/** A history with its checkpoints, which can be read line by line in bounded memory. No file stays open between two calls. */
export class JournalCopy extends JournalHistory {
  /** False if there is no such directory. */
  readonly exists: boolean
  /** The files of the directory when it was opened. */
  readonly listing: StoreListing
  readonly #set: SegmentSet
  #verifier: ReturnType<typeof checkpointVerifier> | undefined

  constructor(directory: JournalDirectory) {
    super(directory.path, directory.listing.segments, directory.listing.failures)
    this.exists = directory.identity !== undefined
    this.listing = directory.listing
    this.#set = new SegmentSet(directory)
  }

  /** The first segment that can be read. */
  get first(): SegmentEntry | undefined {
    const first = this.#set.first()
    return this.segments.find(({ number }) => number === first)
  }

  /** Whether the newest segment exists and cannot be read: newer records than the last one may be in it. */
  get isEndHidden(): boolean {
    const { newest } = this.#set
    if (newest !== undefined) this.#set.read(newest, () => undefined)
    return this.#set.isEndHidden
  }

  /** Whether nothing says that our writer wrote it, so that damage need not have the weight that it has in a journal of ours. */
  get isForeign(): boolean {
    if (this.#set.statedId !== undefined || namesProject(readMeta(this.eventsDir))) return false
    return !this.listing.checkpoints.some(entry => readCheckpoint(this.eventsDir, entry) !== undefined)
  }

  /** Checkpoint files, archived copies of live ones included. Use `checkpoint()` to read one. */
  get checkpoints(): readonly CheckpointEntry[] {
    return [...this.listing.checkpoints, ...this.listing.shadowed]
  }

  /** A checkpoint, if a record of the journal vouches for it. */
  async checkpoint(entry: CheckpointEntry, signal?: AbortSignal): Promise<CheckpointDocument | undefined> {
    this.#verifier ??= checkpointVerifier(this.#set)
    return (await runInTurns(this.#verifier.verify(entry), signal))?.file
  }

  /** Leads your readers through the lines of all segments, in bounded memory; true if the walker ended it. */
  async walk(walker: SegmentWalker, control: PassControl = {}, from?: JournalPoint): Promise<boolean> {
    const { eventsDir, listing } = this
    const segments = this.segments.filter(({ number }) => number >= (from?.segment ?? 0))
    const pace = new PassPacer(control)
    pace.expect(segmentBytes(eventsDir, { ...listing, segments }))
    return await walkSegments(eventsDir, { segments, from, failures: listing.failures }, walker, pace)
  }
}

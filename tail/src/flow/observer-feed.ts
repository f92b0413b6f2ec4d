import type { CursorStore } from '@kim/observer-sdk'
import { type DeriveLimits, RecordSource, type Snapshot } from '@kim/observer-sdk/history'
import { openObserverWith } from '@kim/observer-sdk/internal'
import { cursorOf } from './cursor-of.js'
import type { Feed, FeedStart } from './feed.js'

/** What a feed is asked for besides. */
export interface FeedOptions {
  /** Called whenever everything that stood there was given out, and a call waits for more. */
  readonly onDrained: () => void
}

/**
 * Remembers where the state was first derived: hand-over begins there, while the observer's own head may already
 * hold what was appended since, which is handed over too.
 */
class RememberingSource extends RecordSource {
  first: Snapshot | undefined

  override *derive(limits: DeriveLimits = {}): Generator<void, Snapshot> {
    const snapshot = yield* super.derive(limits)
    this.first ??= snapshot
    return snapshot
  }
}

/** Opens a feed over the files of a journal, which need not be there yet. */
export async function openFeed(eventsDir: string, start: FeedStart, options: FeedOptions): Promise<Feed> {
  const source = new RememberingSource(eventsDir)
  let isDrained = false
  const observer = await openObserverWith({ eventsDir, cursors: cursorsOf(start), from: 'head' }, { source })
  observer.onIdle(() => {
    isDrained = true
    options.onDrained()
  })
  const changes = observer.changes()
  const { head, checkpointSeq } = source.first ?? { head: observer.head, checkpointSeq: 0 }
  return {
    get projectId() {
      return observer.status.kind === 'no_store' ? undefined : observer.projectId
    },
    get exists() {
      return observer.status.kind !== 'no_store'
    },
    get isUnreadable() {
      return observer.status.reasons.includes('unreadable')
    },
    get isDrained() {
      return isDrained
    },
    head: { seq: head.seq, writer: head.writer, checkpointSeq },
    async next() {
      const { value } = await changes.next()
      if (value === undefined) return undefined
      return { gap: value.gap, reached: value.cursor, entries: value.lines }
    },
    cursorOf: persona => cursorOf(observer, persona),
    personas: () => observer.personas(),
    close: () => observer.close(),
  }
}

/**
 * A cursor for the journal it was made on. Any other journal that comes to stand in its place is handed over from
 * its first record: everything in it is new to whoever was following.
 */
function cursorsOf(start: FeedStart): CursorStore {
  return {
    load: projectId => {
      if (start.kind === 'head' || (start.projectId !== undefined && start.projectId !== projectId))
        return undefined
      return { seq: start.seq, checkpoint_seq: 0, writer: start.writer }
    },
    save: () => {},
  }
}

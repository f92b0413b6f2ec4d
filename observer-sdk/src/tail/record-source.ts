/**
 * The port between where records come from and everything after it. Files are one source; another transport
 * that carries the same records in the same order leaves everything after this page as it is.
 */
import { resolve } from 'node:path'
import { type JsonObject, type PayloadRef, type ReadRecord, runAtOnce } from '@kim/manifest'
import { payloadOf, readBlob } from '../store/blobs.js'
import { openWatch, type WatchIntervals } from '../watch/watch.js'
import { searchCheckpoint } from './checkpoints.js'
import { type DeriveLimits, derive, type Snapshot } from './cold-start.js'
import { type DirectoryScan, JournalDirectory, type Tip } from './directory.js'
import { type BytePosition, forgetBatches, JournalReader } from './journal-reader.js'
import { type CursorLike, type Ground, groundOf, locate, type Start } from './locate.js'
import { directoryProjectId } from './project-id.js'
import { SegmentSet } from './segment-set.js'

/** What a source says when something may have changed. */
export interface News {
  /** False if there is no journal now. */
  readonly exists: boolean
  /** False if it exists and cannot be listed. */
  readonly readable: boolean
  /** How many files have a shape in which they cannot be read. */
  readonly failures: number
  /** Why everything must be derived again, if it must. Of these only healing is no anomaly. */
  readonly lost: 'store_replaced' | 'segment_replaced' | 'segment_grown' | 'segment_healed' | undefined
  /** The newest segment as it was just seen: what is read in this turn need not ask the system for it. */
  readonly tip: Tip | undefined
}

/** A journal directory as a source of records. */
export class RecordSource {
  readonly eventsDir: string
  readonly #directory: JournalDirectory
  readonly #pace: WatchIntervals
  /** Identity of the directory that was derived from. */
  #derived: string | undefined
  #lost: News['lost']
  /** What the last look found, whatever asked for it: a read-ahead adds only the tip. */
  #news: News | undefined

  constructor(eventsDir: string, pace: WatchIntervals = {}) {
    this.eventsDir = resolve(eventsDir)
    this.#directory = new JournalDirectory(this.eventsDir, pace.innerMs)
    this.#pace = pace
  }

  /** Derives what there is; yields now and then, so that a host can breathe. */
  *derive(limits: DeriveLimits = {}): Generator<void, Snapshot> {
    if (limits.until === undefined) this.#begin()
    return yield* derive(this.#history(), limits)
  }

  /** What a place is looked for on, for those who need no state. As `derive`, it takes for granted what there is. */
  *ground(): Generator<void, Ground> {
    this.#begin()
    return yield* groundOf(this.#history(), 0)
  }

  /** The same for a cursor that is above the head of the newest segment: older ones may come up to it. */
  groundFor({ seq }: CursorLike): Generator<void, Ground> {
    return groundOf(this.#history(), seq)
  }

  /** Finds where a cursor's hand-over begins. */
  locate(cursor: CursorLike, ground: Ground): Generator<void, Start> {
    return locate(this.#history(), cursor, ground)
  }

  /** A reader that begins at a place. */
  reader(position: BytePosition): JournalReader {
    return new JournalReader(this.#directory, position)
  }

  /** The payload that a reference names, or what is wrong with it. */
  blob(ref: PayloadRef): ReturnType<typeof readBlob> {
    return readBlob(this.#directory.path, ref)
  }

  /** A record's payload, from its blob if it is in one; undefined if there is none, or none that is whole. */
  payloadOf(record: ReadRecord): JsonObject | undefined {
    return payloadOf(this.#directory.path, record)
  }

  /** The head of the newest verified checkpoint; 0 if there is none. */
  checkpointSeq(): number {
    return runAtOnce(searchCheckpoint(this.#history())).document?.header.head_seq ?? 0
  }

  /** An id for a journal that states none. */
  fallbackProjectId(): string {
    return directoryProjectId(this.#directory.path)
  }

  /** Looks once, synchronously. */
  look(): News {
    this.#news = this.#newsOf(this.#directory.scan())
    return this.#news
  }

  /** Calls `onNews` whenever something may have changed, until closed. */
  watch(onNews: (news: News) => void): { close(): void } {
    const directory = this.#directory
    const watch = openWatch(
      directory.path,
      {
        scan: () => {
          const scan = directory.scan()
          this.#news = this.#newsOf(scan)
          if (scan.changed) onNews(this.#news)
          // That the older segment grew is found when it is looked at, not when it was reported.
          return { identity: directory.identity, grown: scan.changed && !scan.grown }
        },
        readAhead: () => {
          const ahead = directory.readAhead()
          if (typeof ahead === 'string') return ahead
          if (this.#news !== undefined) onNews({ ...this.#news, tip: ahead })
          return 'took'
        },
      },
      this.#pace,
    )
    directory.hold(true)
    return {
      close() {
        watch.close()
        directory.hold(false)
      },
    }
  }

  /** What exists from now on is what later looks are compared with. */
  #begin(): void {
    this.#directory.forget()
    this.look()
    forgetBatches(this.#directory)
    this.#derived = this.#directory.identity
    this.#lost = undefined
  }

  #newsOf({ grown, replaced, healed }: DirectoryScan): News {
    const { failures, identity, readable, tip } = this.#directory
    if (identity !== this.#derived) this.#lost = 'store_replaced'
    else if (replaced) this.#lost ??= 'segment_replaced'
    else if (grown) this.#lost ??= 'segment_grown'
    else if (healed) this.#lost ??= 'segment_healed'
    return {
      exists: identity !== undefined,
      readable,
      failures,
      lost: this.#lost,
      tip: readable ? tip : undefined,
    }
  }

  #history(): SegmentSet {
    return new SegmentSet(this.#directory)
  }
}

import { resolve } from 'node:path'
import { readBlob } from '../store/blob-file.js'
import { openWatch, type WatchIntervals } from '../watch/watch.js'
import type { BytePosition } from './byte-position.js'
import { type DeriveLimits, derive, type Snapshot } from './derive.js'
import { type DirectoryScan, JournalDirectory } from './directory.js'
import { JournalReader, type KeepLine } from './journal-reader.js'
import { type Ground, groundOf, locate, type Start } from './locate.js'
import { directoryProjectId, statedProjectId } from './project-id.js'
import { SegmentSet } from './segment-set.js'
import { forgetBatches } from './shared-batches.js'
import type { CursorLike, News, RecordReader, RecordSource } from './source.js'

/** A journal directory as a source of records. */
export class JournalSource implements RecordSource {
  readonly #directory: JournalDirectory
  readonly #pace: WatchIntervals
  readonly #keep: KeepLine | undefined
  /** Identity of the directory that was derived from. */
  #derived: string | undefined
  #pending: News['lost']
  /** What the last look told, whoever took it: a read-ahead tells nothing else. */
  #news: News | undefined

  /** `keep` is told the stored bytes of every record that is read, for those who pass them on. */
  constructor(eventsDir: string, pace: WatchIntervals = {}, keep?: KeepLine) {
    this.#directory = new JournalDirectory(resolve(eventsDir), pace.innerMs)
    this.#pace = pace
    this.#keep = keep
  }

  *derive(limits: DeriveLimits = {}): Generator<void, Snapshot> {
    if (limits.until === undefined) this.#begin()
    const snapshot = yield* derive(this.#history(), limits)
    return snapshot
  }

  *ground(seq: number): Generator<void, { readonly ground: Ground; readonly projectId: string | undefined }> {
    this.#begin()
    const history = this.#history()
    const projectId = statedProjectId(history)
    return { ground: yield* groundOf(history, seq), projectId }
  }

  *locate(cursor: CursorLike, ground: Ground): Generator<void, Start> {
    return yield* locate(this.#history(), cursor, ground)
  }

  /** What is there from now on is what later looks are compared with. */
  #begin(): void {
    this.#directory.forget()
    this.look()
    forgetBatches(this.#directory)
    this.#derived = this.#directory.identity
    this.#pending = undefined
  }

  reader(position: BytePosition): RecordReader {
    return new JournalReader(this.#directory, position, this.#keep)
  }

  blob(ref: { readonly sha256: string; readonly bytes: number }): Uint8Array | 'missing' | 'mismatch' {
    const read = readBlob(this.#directory.path, ref)
    if (read.ok) return read.value
    return read.reason === 'mismatch' ? 'mismatch' : 'missing'
  }

  fallbackProjectId(): string {
    return directoryProjectId(this.#directory.path)
  }

  look(): News {
    this.#news = this.#newsOf(this.#directory.scan())
    return this.#news
  }

  watch(onNews: (news: News) => void): { ring(): void; close(): void } {
    const directory = this.#directory
    const tell = (): void => {
      if (this.#news !== undefined) onNews(this.#news)
    }
    const scanner = {
      scan: () => {
        const scan = directory.scan()
        this.#news = this.#newsOf(scan)
        if (scan.changed) directory.whileFresh(tell)
        return { identity: scan.identity, grown: scan.changed }
      },
      readAhead() {
        const ahead = directory.readAhead()
        if (ahead === 'took') directory.whileFresh(tell)
        return ahead
      },
    }
    const watch = openWatch(directory.path, scanner, this.#pace)
    directory.hold(true)
    return {
      ring: () => watch.ring(),
      close() {
        watch.close()
        directory.hold(false)
      },
    }
  }

  #newsOf({ identity, readable, replaced, healed, failures }: DirectoryScan): News {
    if (identity !== this.#derived) this.#pending = 'store_replaced'
    else if (replaced) this.#pending ??= 'segment_replaced'
    else if (healed) this.#pending ??= 'segment_healed'
    return { exists: identity !== undefined, readable, failures, lost: this.#pending }
  }

  #history(): SegmentSet {
    return new SegmentSet(this.#directory)
  }
}

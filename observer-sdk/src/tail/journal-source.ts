import { resolve } from 'node:path'
import { readBlob } from '../store/blob-file.js'
import { openWatch, type Pace } from '../watch/watch.js'
import { type DeriveLimits, derive, type Snapshot } from './derive.js'
import { type Glance, JournalDirectory } from './directory.js'
import { History } from './history.js'
import { JournalReader, type KeepLine } from './journal-reader.js'
import { type Ground, groundOf, locate, type Start } from './locate.js'
import type { Position } from './position.js'
import { directoryProjectId, statedProjectId } from './project-id.js'
import { forgetBatches } from './shared-batches.js'
import type { CursorLike, News, RecordReader, RecordSource } from './source.js'

/** A journal directory as a source of records. */
export class JournalSource implements RecordSource {
  readonly #directory: JournalDirectory
  readonly #pace: Pace
  readonly #keep: KeepLine | undefined
  /** Identity of the directory that was derived from. */
  #derived: string | undefined
  #pending: News['lost']
  /** What the last look told, whoever took it: a glimpse tells nothing else. */
  #news: News | undefined

  /** `keep` is told the stored bytes of every record that is read, for those who pass them on. */
  constructor(eventsDir: string, pace: Pace = {}, keep?: KeepLine) {
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

  reader(position: Position): RecordReader {
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
    this.#news = this.#newsOf(this.#directory.look())
    return this.#news
  }

  watch(onNews: (news: News) => void): { ring(): void; close(): void } {
    const directory = this.#directory
    const tell = (): void => {
      if (this.#news !== undefined) onNews(this.#news)
    }
    const eyes = {
      look: () => {
        const glance = directory.look()
        this.#news = this.#newsOf(glance)
        if (glance.changed) directory.whileFresh(tell)
        return { identity: glance.identity, grown: glance.changed }
      },
      glimpse() {
        const glimpse = directory.glimpse()
        if (glimpse === 'took') directory.whileFresh(tell)
        return glimpse
      },
    }
    const watch = openWatch(directory.path, eyes, this.#pace)
    directory.hold(true)
    return {
      ring: () => watch.ring(),
      close() {
        watch.close()
        directory.hold(false)
      },
    }
  }

  #newsOf({ identity, readable, replaced, healed, failures }: Glance): News {
    if (identity !== this.#derived) this.#pending = 'store_replaced'
    else if (replaced) this.#pending ??= 'segment_replaced'
    else if (healed) this.#pending ??= 'segment_healed'
    return { exists: identity !== undefined, readable, failures, lost: this.#pending }
  }

  #history(): History {
    return new History(this.#directory)
  }
}

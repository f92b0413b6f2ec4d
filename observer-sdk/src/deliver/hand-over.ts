/** What a consumer is handed: pulled from the source at its own pace, from where its cursor stands. */
import {
  type Cursor,
  isNews,
  KimError,
  nextTurn,
  parseCursor,
  type ReadRecord,
  type Signal,
} from '@kim/manifest'
import type { CursorStore } from '../cursors/cursor.js'
import { type Impact, ImpactSet, impactOf } from '../project/impact.js'
import { type BytePosition, isSamePlace, ORIGIN } from '../tail/byte-position.js'
import { missingBetween } from '../tail/locate.js'
import type { Batch, Gap, Ground, RecordReader, RecordSource, Start } from '../tail/source.js'
import type { Change } from './change.js'
import { PART_BYTES } from './part-bytes.js'
import { inSlices, Slice } from './slices.js'

/** What follows the journal, with a state or without one. */
export interface Followed {
  readonly source: RecordSource
  readonly exists: boolean
  /** Grows whenever places change their meaning. */
  readonly epoch: number
  readonly snapshot: Ground & { readonly checkpointSeq: number }
  /** The newest record that stands before the end of a batch, as far as is known. */
  headAt(batch: Batch): Ground['head'] | undefined
  /** Places mean nothing now, and will mean something else once the epoch has grown. */
  readonly isMoving: boolean
  /** It goes on reading by itself. */
  readonly isReading: boolean
  /** Whether it has read nothing behind this place: whatever comes is read for it first, and told. */
  isLevelAt(position: BytePosition): boolean
  /** Comes to this place, so that nobody is handed what it does not know; false if places came to mean nothing. */
  reach(to: BytePosition): boolean
  /** What it read last, if it reads. */
  readonly latest: Batch | undefined
  onLost(reason: NonNullable<Batch['lost']>): void
}

/** What hand-over needs to know of its observer. */
export interface HandOverOptions {
  readonly follower: Followed
  readonly cursors: CursorStore
  /** The id that cursors are stored under, as of now. */
  readonly projectId: () => string
  readonly from: 'head' | 'start'
  /** True once the observer is closed. */
  readonly isClosed: () => boolean
  /** What the consumer's storage answers, or nothing if the observer is closed before it does. */
  readonly unlessClosed: <T>(answer: T) => Promise<Awaited<T> | undefined>
  /** The bug that ended the observer, which ends the changes too. */
  readonly bug: () => unknown
  /** Raised when there is news, and when the observer is closed. */
  readonly news: Signal
  /** Called whenever everything at hand was handed over and a pull waits for more. */
  readonly onIdle?: (() => void) | undefined
}

/** A place to come back to, and what was still to be told there. */
interface Mark {
  readonly position: BytePosition
  readonly reached: Cursor
  readonly gap: Gap | undefined
  readonly skippedFrom: number | undefined
}

/** Most bytes of lines that a consumer behind the state is handed at a time. */
const BATCH_BYTES = 1024 * 1024

const NOWHERE: Cursor = Object.freeze({ seq: 0, checkpoint_seq: 0, writer: null })

/** One consumer's place in the journal. */
export class HandOver {
  readonly #options: HandOverOptions
  /** What the consumer has asked beyond. */
  #committed: Cursor = NOWHERE
  /** What it has been handed. */
  #reached: Cursor = NOWHERE
  #project: string | undefined
  #epoch = 0
  #reader: RecordReader | undefined
  #since = 0
  #sinceSegment = 0
  /** A seq up to which everything was handed over, where nothing readable comes up to it; 0 as a rule. */
  #beyond = 0
  #gap: Gap | undefined
  /** What stood when the committed cursor came to stand. */
  #mark: Mark | undefined
  /** The first seq of what went unread, until something stands behind it. */
  #skippedFrom: number | undefined
  /** The cursor that the place was last looked for from. */
  #sought: Cursor = NOWHERE
  #stale = new ImpactSet()
  #isStored = false
  #isTaken = false
  /** A consumer and a storage that wait for nothing would let nobody else have a turn while they catch up. */
  readonly #slice = new Slice()
  /** True once a change was handed over that is not committed. */
  #isAhead = false
  /** True until what the consumer waits for has come. */
  #isAwaited = false

  constructor(options: HandOverOptions) {
    this.#options = options
  }

  /** Finds the place once the state is derived for the first time. */
  async open(): Promise<void> {
    const { follower, cursors, projectId, from, unlessClosed } = this.#options
    this.#epoch = follower.epoch
    if (!follower.exists) return
    this.#project = projectId()
    const stored = parseCursor(await unlessClosed(cursors.load(this.#project)))
    this.#isStored = stored !== undefined
    if (stored === undefined && from === 'head') {
      const { head, end, checkpointSeq } = follower.snapshot
      this.#stand(
        { ...head, checkpoint_seq: checkpointSeq },
        { position: end, since: end.offset, gap: undefined },
      )
      this.#committed = this.#reached
      return
    }
    this.#committed = stored ?? NOWHERE
    await this.#find(this.#committed)
  }

  /** Bytes the consumer has not been handed are gone, or its place in them is lost. */
  get gap(): Gap | undefined {
    return this.#gap
  }

  /** State changed by no record's doing. */
  stale(impact: Impact): void {
    this.#stale.addAll(impact)
  }

  /** The changes, one after another; a change counts as taken when the next one is asked for. */
  async *changes(isStopped: () => boolean): AsyncGenerator<Change, void, undefined> {
    if (this.#isTaken) {
      throw new KimError('usage', 'this observer already has a reader of changes(): only one at a time')
    }
    this.#isTaken = true
    try {
      if (this.#isAhead) this.#goBack()
      this.#isAhead = false
      // Closed before it was known what is stored, there may be something.
      if (!this.#isStored && !this.#options.isClosed()) await this.#commit(this.#committed)
      for (;;) {
        const change = await this.#next(isStopped)
        if (change === undefined) break
        this.#isAhead = true
        yield change
        const saved = this.#commit(change.cursor)
        if (saved !== undefined) await saved
      }
    } finally {
      this.#isTaken = false
    }
    const bug = this.#options.bug()
    if (bug !== undefined) throw bug
  }

  /** What was handed over and not taken is handed over again. */
  #goBack(): void {
    const mark = this.#mark
    // Places changed their meaning meanwhile: moving on finds the new one, from here.
    if (this.#options.follower.epoch !== this.#epoch || mark === undefined) this.#reached = this.#committed
    else {
      this.#reader?.seek(mark.position)
      this.#reached = mark.reached
      this.#gap = mark.gap
      this.#skippedFrom = mark.skippedFrom
    }
  }

  #setMark(): void {
    const position = this.#reader?.position
    this.#mark = position && {
      position,
      reached: this.#reached,
      gap: this.#gap,
      skippedFrom: this.#skippedFrom,
    }
  }

  /** Waits for nothing where the storage answers at once: what comes next would wait as well. */
  #commit(cursor: Cursor): Promise<void> | undefined {
    this.#committed = cursor
    this.#isAhead = false
    this.#setMark()
    if (this.#project === undefined) return undefined
    const answer = this.#options.cursors.save(this.#project, cursor)
    if (isPromise(answer)) return this.#stored(answer)
    this.#isStored = true
    return undefined
  }

  async #stored(answer: PromiseLike<unknown>): Promise<void> {
    await this.#options.unlessClosed(answer)
    this.#isStored = true
  }

  async #next(isStopped: () => boolean): Promise<Change | undefined> {
    const { follower, isClosed, news, onIdle } = this.#options
    while (!isClosed() && !isStopped()) {
      if (this.#slice.isOver) {
        await nextTurn()
        this.#slice.begin()
        continue
      }
      // Asked first: what happens while we look is not missed.
      const before = news.count
      if (follower.isMoving) {
        await news.next(before)
        continue
      }
      if (follower.epoch !== this.#epoch) {
        await this.#moveOn()
        continue
      }
      const batch = this.#reader === undefined ? undefined : this.#pull(this.#reader)
      const change = this.#changeOf(batch)
      if (change !== undefined) {
        this.#isAwaited = false
        return change
      }
      if (batch?.lost !== undefined) follower.onLost(batch.lost)
      if (batch?.more === true && !this.#isReadByState()) {
        await nextTurn()
        continue
      }
      if (batch?.more !== true && batch?.lost === undefined) onIdle?.()
      this.#isAwaited = true
      await news.next(before)
      this.#slice.begin()
    }
    return undefined
  }

  /** Whether what comes next is what the state is about to read, which is news once it was. */
  #isReadByState(): boolean {
    const { follower } = this.#options
    return follower.isReading && this.#reader !== undefined && follower.isLevelAt(this.#reader.position)
  }

  #pull(reader: RecordReader): Batch {
    const { follower } = this.#options
    const { latest } = follower
    if (follower.isLevelAt(reader.position)) return nothingAt(reader.position, follower.isReading)
    if (latest !== undefined && latest.lost === undefined && isSamePlace(latest.from, reader.position)) {
      // The state has read these very bytes.
      reader.seek(latest.to)
      return latest
    }
    const batch = reader.read(this.#isAwaited ? PART_BYTES : BATCH_BYTES)
    if (follower.reach(batch.to)) return batch
    reader.seek(batch.from)
    return nothingAt(batch.from, true)
  }

  #changeOf(batch: Batch | undefined): Change | undefined {
    const { follower } = this.#options
    const records = batch === undefined ? [] : this.#handedOver(batch)
    const gap = this.#gapWith(this.#gapBefore(records, batch))
    if (batch !== undefined) this.#reach(batch)
    if (records.length === 0) {
      if (batch?.more === true || (gap === undefined && this.#stale.isEmpty)) return undefined
      if (!follower.exists && gap === undefined && this.#stale.isEmpty) return undefined
    }
    this.#gap = undefined
    const { itemTypes, sections, personas } = this.#impactWith(records)
    const news = records.filter(isNews)
    return { itemTypes, sections, personas, records, news, gap, cursor: this.#reached }
  }

  #impactWith(records: readonly ReadRecord[]): Impact {
    if (this.#stale.isEmpty) return impactOf(records)
    const impact = this.#stale
    this.#stale = new ImpactSet()
    for (const record of records) impact.addRecord(record)
    return impact.toImpact()
  }

  #handedOver({ entries }: Batch): ReadRecord[] {
    const records: ReadRecord[] = []
    for (const { record, segment, offset } of entries) {
      if (segment === this.#sinceSegment && offset < this.#since) continue
      if (record.seq > this.#beyond) records.push(record)
    }
    return records
  }

  /**
   * A segment that went while it was being read took with it what stands between the cursor and what is left, which
   * may only come later; one that went before is missing by its number.
   */
  #gapBefore(records: readonly ReadRecord[], batch: Batch | undefined): Gap | undefined {
    const { seq } = this.#reached
    if (batch?.skipped === true) this.#skippedFrom ??= seq + 1
    const [first] = records
    if (first === undefined || batch === undefined) return undefined
    const from = this.#skippedFrom
    this.#skippedFrom = undefined
    if (from !== undefined)
      return from < first.seq ? { from, to: first.seq - 1, reason: 'archived' } : undefined
    const at = batch.entries.findIndex(({ record }) => record === first)
    // What stands before it without an effect is not missing.
    const stood = batch.idle.reduce((peak, idle) => (idle.before > at ? peak : Math.max(peak, idle.seq)), seq)
    return seq === 0 ? undefined : missingBetween(stood, first.seq, batch.entries[at]?.segment ?? 0)
  }

  /** What was found missing when the place was looked for, or more, if what stood there has gone since. */
  #gapWith(before: Gap | undefined): Gap | undefined {
    const isMore = this.#gap?.reason !== 'rewound' && (before?.to ?? 0) > (this.#gap?.to ?? 0)
    return isMore ? before : this.#gap
  }

  #reach(batch: Batch): void {
    const { follower } = this.#options
    const { seq, writer } = follower.headAt(batch) ?? NOWHERE
    if (seq < this.#reached.seq || seq === 0) return
    this.#reached = Object.freeze({ seq, writer, checkpoint_seq: follower.snapshot.checkpointSeq })
  }

  /** Everything was derived anew: the place is found again from the cursor. */
  async #moveOn(): Promise<void> {
    const { follower, cursors, projectId, isClosed, unlessClosed } = this.#options
    const { epoch } = follower
    this.#reader = undefined
    this.#mark = undefined
    if (!follower.exists) {
      this.#epoch = epoch
      return
    }
    const project = projectId()
    if (project === this.#project) {
      this.#epoch = epoch
      // A gap that nobody was told of yet is found again with its place.
      await this.#find(this.#gap === undefined ? this.#reached : this.#sought)
      return
    }
    const before = this.#project === undefined ? 0 : this.#reached.seq
    // Whoever asks again after a failure here comes here again.
    const stored = parseCursor(await unlessClosed(cursors.load(project)))
    if (isClosed()) return
    this.#epoch = epoch
    this.#project = project
    this.#isStored = stored !== undefined
    this.#committed = stored ?? NOWHERE
    await this.#find(this.#committed)
    // Another store: what was not handed over of the old one is gone with it.
    if (stored === undefined && before > 0) this.#gap = { from: 1, to: before, reason: 'rewound' }
    if (!this.#isStored) await this.#commit(this.#committed)
  }

  async #find(cursor: Cursor): Promise<void> {
    const { follower, isClosed } = this.#options
    if (!follower.exists) return
    const start = await inSlices(follower.source.locate(cursor, follower.snapshot), isClosed)
    if (start === undefined) return
    this.#sought = cursor
    this.#skippedFrom = undefined
    // After a rewind the seqs the consumer had come to mean nothing.
    this.#stand(start.gap?.reason === 'rewound' ? NOWHERE : cursor, start)
  }

  #stand(cursor: Cursor, { position, since, gap, above }: Start): void {
    const { follower } = this.#options
    this.#reached = Object.freeze({ ...cursor, checkpoint_seq: follower.snapshot.checkpointSeq })
    this.#reader = follower.source.reader(position)
    this.#since = since
    this.#sinceSegment = position.segment === ORIGIN.segment ? -1 : position.segment
    this.#gap = gap
    this.#beyond = above ?? (this.#reached.seq > follower.snapshot.head.seq ? this.#reached.seq : 0)
    this.#setMark()
  }
}

function isPromise(answer: unknown): answer is PromiseLike<unknown> {
  return typeof (answer as PromiseLike<unknown> | undefined | null)?.then === 'function'
}

const NOTHING = { entries: [], counts: new Map(), idle: [], passed: undefined, skipped: false } as const

/** What reading at the end gives. */
function nothingAt(position: BytePosition, more: boolean): Batch {
  const { entries, counts, idle, passed, skipped } = NOTHING
  return { from: position, to: position, entries, counts, idle, passed, more, skipped }
}

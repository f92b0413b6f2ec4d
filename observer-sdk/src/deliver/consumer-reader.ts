/** What a consumer is handed: pulled from the source at its own pace, from where its cursor stands. */
import { type Cursor, isNews, KimError, nextTurn, parseCursor, type ReadRecord } from '@kim/manifest'
import type { CursorStore } from '../cursors/cursor-stores.js'
import { type Impact, ImpactSet, impactOf } from '../project/impact.js'
import {
  type Batch,
  type BytePosition,
  type JournalLine,
  type JournalReader,
  ORIGIN,
} from '../tail/journal-reader.js'
import { type Gap, missingBetween, type Start } from '../tail/locate.js'
import { inSlices, type JournalFollower, Slice } from './journal-follower.js'

/** A consumer without a saved cursor begins after the record with this seq. */
export interface StartAfter {
  readonly seq: number
  /** Who wrote that record; null or absent if that is not known. Another writer means that the journal is another one. */
  readonly writer?: string | null | undefined
  /** The journal that the record is in. In any other journal the consumer begins with the first record. */
  readonly projectId?: string | undefined
}

/** What a consumer is handed at a time. */
export interface Change extends Impact {
  /** The records, in file order. Empty when state changed without one. */
  readonly records: readonly ReadRecord[]
  /** The same records with their stored lines, and where these are. */
  readonly lines: readonly JournalLine[]
  /** Those of the records that announce something. */
  readonly news: readonly ReadRecord[]
  /** What was to come before these records and is missing. */
  readonly gap: Gap | undefined
  /** Where the consumer is once it asks for the next change; it is saved then, not before. */
  readonly cursor: Cursor
}

/** For whom, and where it begins. */
export interface ConsumerOptions {
  readonly cursors: CursorStore
  /** The id that cursors are stored under, as of now. */
  readonly projectId: () => string
  /** Where a consumer begins that has no cursor. */
  readonly from: 'head' | 'start' | StartAfter
  /** Called whenever everything at hand was handed over and the consumer waits for more. */
  readonly onIdle: () => void
  /** Lets go of everything but the consumer; called once. */
  readonly onEnd: () => void
}

/** A place to come back to, and what was still to be told there. */
interface Mark {
  readonly position: BytePosition
  readonly reached: Cursor
  readonly gap: Gap | undefined
  readonly skippedFrom: number | undefined
}

const NOWHERE: Cursor = Object.freeze({ seq: 0, checkpoint_seq: 0, writer: null })

/** The consumer of a tail or an observer: its place in the journal, its pulls, and their end. */
export class ConsumerReader {
  readonly #follower: JournalFollower
  readonly #options: ConsumerOptions
  /** Those who wait for the consumer's storage, which may never answer. */
  readonly #askers = new Set<() => void>()
  #closed: Promise<void> | undefined
  #bug: unknown
  /** What the consumer has asked beyond. */
  #committed: Cursor = NOWHERE
  /** What it has been handed. */
  #reached: Cursor = NOWHERE
  #project: string | undefined
  #epoch = 0
  #reader: JournalReader | undefined
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

  constructor(follower: JournalFollower, options: ConsumerOptions) {
    this.#follower = follower
    this.#options = options
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /** Finds the place once the journal was looked at for the first time. */
  async open(): Promise<void> {
    const follower = this.#follower
    const { cursors, projectId, from } = this.#options
    this.#epoch = follower.epoch
    if (!follower.exists) return
    this.#project = projectId()
    const stored = parseCursor(await this.#unlessClosed(cursors.load(this.#project)))
    this.#isStored = stored !== undefined
    if (stored === undefined && from === 'head') {
      const { head, end, checkpointSeq } = follower.ground
      this.#stand(
        { ...head, checkpoint_seq: checkpointSeq },
        { position: end, since: end.offset, gap: undefined },
      )
      this.#committed = this.#reached
      return
    }
    this.#committed = stored ?? this.#first()
    await this.#find(this.#committed)
  }

  /** The cursor of a consumer that has none, in the first journal that it follows. */
  #first(): Cursor {
    const { from, projectId } = this.#options
    if (typeof from === 'string') return NOWHERE
    if (from.projectId !== undefined && from.projectId !== projectId()) return NOWHERE
    return { seq: from.seq, checkpoint_seq: 0, writer: from.writer ?? null }
  }

  /** State changed by no record's doing: that comes with the next change. */
  stale(impact: Impact): void {
    this.#stale.addAll(impact)
    this.#follower.news.raise()
  }

  /** A bug of ours ends what it happened in, never its host. */
  fail(bug: unknown): void {
    this.#bug ??= bug
    void this.close()
  }

  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  /** The changes, one after another; a change counts as taken when the next one is asked for. */
  changes(): AsyncGenerator<Change, void, undefined> {
    let isStopped = false
    const changes = this.#changes(() => isStopped)
    // A pull that waits for news would hold back the end of the iteration.
    const ending = <A, R>(end: (how: A) => R): ((how: A) => R) => {
      return how => {
        isStopped = true
        this.#follower.news.raise()
        return end(how)
      }
    }
    changes.return = ending(changes.return.bind(changes))
    changes.throw = ending(changes.throw.bind(changes))
    return changes
  }

  async *#changes(isStopped: () => boolean): AsyncGenerator<Change, void, undefined> {
    if (this.#isTaken) {
      throw new KimError('usage', 'this observer already has a reader of changes(): only one at a time')
    }
    this.#isTaken = true
    try {
      if (this.#isAhead) this.#goBack()
      this.#isAhead = false
      // Closed before it was known what is stored, there may be something.
      if (!this.#isStored && !this.isClosed) await this.#commit(this.#committed)
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
    if (this.#bug !== undefined) throw this.#bug
  }

  /** What was handed over and not taken is handed over again. */
  #goBack(): void {
    const mark = this.#mark
    // Places changed their meaning meanwhile: moving on finds the new one, from here.
    if (this.#follower.epoch !== this.#epoch || mark === undefined) this.#reached = this.#committed
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
    await this.#unlessClosed(answer)
    this.#isStored = true
  }

  async #next(isStopped: () => boolean): Promise<Change | undefined> {
    const follower = this.#follower
    const { news } = follower
    while (!this.isClosed && !isStopped()) {
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
      const batch = this.#reader && follower.read(this.#reader, this.#isAwaited)
      const isToCome = this.#reader !== undefined && batch === undefined
      const change = isToCome ? undefined : this.#changeOf(batch)
      if (change !== undefined) {
        this.#isAwaited = false
        return change
      }
      if (batch?.more === true || batch?.lost !== undefined) {
        await nextTurn()
        continue
      }
      if (!isToCome) this.#options.onIdle()
      this.#isAwaited = true
      await news.next(before)
      this.#slice.begin()
    }
    return undefined
  }

  #changeOf(batch: Batch | undefined): Change | undefined {
    const lines = batch === undefined ? [] : this.#handedOver(batch)
    const records = lines.map(({ record }) => record)
    const gap = this.#gapWith(this.#gapBefore(records, batch))
    if (batch !== undefined) this.#reach(batch)
    if (records.length === 0) {
      if (batch?.more === true || (gap === undefined && this.#stale.isEmpty)) return undefined
      if (!this.#follower.exists && gap === undefined && this.#stale.isEmpty) return undefined
    }
    this.#gap = undefined
    const { itemTypes, sections, personas } = this.#impactWith(records)
    const news = records.filter(isNews)
    return { itemTypes, sections, personas, records, lines, news, gap, cursor: this.#reached }
  }

  #impactWith(records: readonly ReadRecord[]): Impact {
    if (this.#stale.isEmpty) return impactOf(records)
    const impact = this.#stale
    this.#stale = new ImpactSet()
    for (const record of records) impact.addRecord(record)
    return impact.toImpact()
  }

  #handedOver({ entries }: Batch): JournalLine[] {
    return entries.filter(
      ({ record, segment, offset }) =>
        !(segment === this.#sinceSegment && offset < this.#since) && record.seq > this.#beyond,
    )
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

  #reach({ passed }: Batch): void {
    const { seq, writer } = passed ?? NOWHERE
    if (seq < this.#reached.seq || seq === 0) return
    this.#reached = Object.freeze({ seq, writer, checkpoint_seq: this.#follower.ground.checkpointSeq })
  }

  /** Everything was derived anew: the place is found again from the cursor. */
  async #moveOn(): Promise<void> {
    const { cursors, projectId } = this.#options
    const { epoch, exists } = this.#follower
    this.#reader = undefined
    this.#mark = undefined
    if (!exists) {
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
    const isFirst = this.#project === undefined
    const before = isFirst ? 0 : this.#reached.seq
    // Whoever asks again after a failure here comes here again.
    const stored = parseCursor(await this.#unlessClosed(cursors.load(project)))
    if (this.isClosed) return
    this.#epoch = epoch
    this.#project = project
    this.#isStored = stored !== undefined
    this.#committed = stored ?? (isFirst ? this.#first() : NOWHERE)
    await this.#find(this.#committed)
    // Another store: what was not handed over of the old one is gone with it.
    if (stored === undefined && before > 0) this.#gap = { from: 1, to: before, reason: 'rewound' }
    if (!this.#isStored) await this.#commit(this.#committed)
  }

  async #find(cursor: Cursor): Promise<void> {
    const follower = this.#follower
    if (!follower.exists) return
    const start = await inSlices(follower.locate(cursor), () => this.isClosed)
    if (start === undefined) return
    this.#sought = cursor
    this.#skippedFrom = undefined
    // After a rewind the seqs the consumer had come to mean nothing.
    this.#stand(start.gap?.reason === 'rewound' ? NOWHERE : cursor, start)
  }

  #stand(cursor: Cursor, { position, since, gap, above }: Start): void {
    const { ground, source } = this.#follower
    this.#reached = Object.freeze({ ...cursor, checkpoint_seq: ground.checkpointSeq })
    this.#reader = source.reader(position)
    this.#since = since
    this.#sinceSegment = position.segment === ORIGIN.segment ? -1 : position.segment
    this.#gap = gap
    this.#beyond = above ?? (this.#reached.seq > ground.head.seq ? this.#reached.seq : 0)
    this.#setMark()
  }

  /** What the consumer's storage answers, or undefined if the end comes before it does. */
  #unlessClosed<T>(answer: T): Promise<Awaited<T> | undefined> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => resolve(undefined)
      const isDone = (): void => void this.#askers.delete(giveUp)
      this.#askers.add(giveUp)
      Promise.resolve(answer).then(resolve, reject).finally(isDone)
      // Nobody ends a wait that begins after the end: only an answer that is at hand is heard.
      if (this.isClosed) void nextTurn().then(giveUp)
    })
  }

  async #end(): Promise<void> {
    // The promise this returns must be in place before anybody is woken to look at it.
    await Promise.resolve()
    this.#options.onEnd()
    this.#follower.news.raise()
    for (const give of this.#askers) give()
    // A closed watch is let go at the end of a turn: in the one after it nothing is left.
    await nextTurn()
    await nextTurn()
  }
}

function isPromise(answer: unknown): answer is PromiseLike<unknown> {
  return typeof (answer as PromiseLike<unknown> | undefined | null)?.then === 'function'
}

/** What a consumer is handed: it pulls the changes at its own pace, from the place of its cursor. */
import { type Cursor, isNews, KimError, nextTurn, parseCursor, type ReadRecord } from '@kim/manifest'
import type { CursorStore } from '../cursors/cursor-stores.js'
import { type Impact, ImpactSet, impactOf } from '../project/impact.js'
import type { Batch, BytePosition, JournalLine, JournalReader, ReadLine } from '../tail/journal-reader.js'
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

/** Its cursors, where it begins, and what it reports. */
export interface ConsumerOptions {
  readonly cursors: CursorStore
  /** The id that cursors are stored under, as of now. */
  readonly projectId: () => string
  /** Where a consumer begins that has no cursor. */
  readonly from: 'head' | 'start' | StartAfter
  /** Called whenever everything at hand was handed over and the consumer waits for more. */
  readonly onIdle: () => void
  /** Ends everything but the consumer; called once. */
  readonly onEnd: () => void
}

/** A place to come back to, and what was still to be handed over there. */
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
  /** Where hand-over began when the place was last looked for, and the cursor that it was looked for. */
  #start: Start | undefined
  #sought: Cursor = NOWHERE
  /** A seq up to which everything was handed over, where nothing readable comes up to it; 0 as a rule. */
  #beyond = 0
  #gap: Gap | undefined
  /** What was true when the committed cursor was reached. */
  #mark: Mark | undefined
  /** The first seq of what is missing unread, until something is read behind it. */
  #skippedFrom: number | undefined
  /** What changed without a record, and was not handed over yet. */
  #stale: ImpactSet | undefined
  #isStored = false
  #isTaken = false
  /** A consumer and a storage that never wait would keep everything else waiting while they catch up. */
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
  open(): Promise<void> {
    return this.#moveOn(true)
  }

  /** State changed without a record: that comes with the next change. */
  stale(impact: Impact): void {
    this.#stale ??= new ImpactSet()
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
      const hint = 'use one loop, or open a second observer'
      throw new KimError('usage', 'this observer already has a reader of changes()', { hint })
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
    const [reached, gap, skippedFrom] = [this.#reached, this.#gap, this.#skippedFrom]
    this.#mark = position && { position, reached, gap, skippedFrom }
  }

  /** Waits for nothing where the storage answers at once: what comes next would wait as well. */
  #commit(cursor: Cursor): Promise<void> | undefined {
    this.#committed = cursor
    this.#isAhead = false
    this.#setMark()
    if (this.#project === undefined) return undefined
    const answer = this.#options.cursors.save(this.#project, cursor)
    const stored = (): void => {
      this.#isStored = true
    }
    if (isPromise(answer)) return this.#unlessClosed(answer).then(stored)
    return stored() as undefined
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
    const before = batch && this.#gapBefore(lines[0], batch)
    // What was found missing when the place was looked for, or more, if more of it is missing by now.
    const isMore = this.#gap?.reason !== 'rewound' && (before?.to ?? 0) > (this.#gap?.to ?? 0)
    const gap = isMore ? before : this.#gap
    if (batch !== undefined) this.#reach(batch)
    const isNothing = records.length === 0 && gap === undefined && this.#stale?.isEmpty !== false
    if (isNothing || (records.length === 0 && batch?.more === true)) return undefined
    this.#gap = undefined
    const { itemTypes, sections, personas, attentionChanged } = this.#impactWith(lines)
    const news = records.filter(isNews)
    const cursor = this.#reached
    return { itemTypes, sections, personas, attentionChanged, records, lines, news, gap, cursor }
  }

  #impactWith(lines: readonly ReadLine[]): Impact {
    const stale = this.#stale
    if (stale === undefined) return impactOf(lines)
    this.#stale = undefined
    stale.addAll(impactOf(lines))
    return stale.toImpact()
  }

  #handedOver({ entries }: Batch): readonly ReadLine[] {
    const { position, since } = this.#start as Start
    const isDue = ({ record, segment, offset }: ReadLine): boolean =>
      (segment !== position.segment || offset >= since) && record.seq > this.#beyond
    return entries.every(isDue) ? entries : entries.filter(isDue)
  }

  /**
   * A segment that vanished while it was being read took with it what was between the cursor and what is left, which may only
   * come later. One that vanished before is missing by its number.
   */
  #gapBefore(first: ReadLine | undefined, batch: Batch): Gap | undefined {
    const { seq } = this.#reached
    if (batch.skipped) this.#skippedFrom ??= seq + 1
    if (first === undefined) return undefined
    const { record, segment } = first
    const from = this.#skippedFrom
    this.#skippedFrom = undefined
    if (from !== undefined)
      return from < record.seq ? { from, to: record.seq - 1, reason: 'archived' } : undefined
    const at = batch.entries.indexOf(first)
    // Lines before it without an effect are not missing.
    const last = batch.idle.reduce((peak, idle) => (idle.before > at ? peak : Math.max(peak, idle.seq)), seq)
    return seq === 0 ? undefined : missingBetween(last, record.seq, segment)
  }

  #reach({ passed }: Batch): void {
    const { seq, writer } = passed ?? NOWHERE
    if (seq < this.#reached.seq || seq === 0) return
    this.#reached = Object.freeze({ seq, writer, checkpoint_seq: this.#follower.ground.checkpointSeq })
  }

  /** Everything was derived again, or for the first time: finds the place of the cursor. */
  async #moveOn(isOpening = false): Promise<void> {
    const { cursors, from, projectId } = this.#options
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
      // A gap that was not handed over yet is found again with its place.
      await this.#find(this.#gap === undefined ? this.#reached : this.#sought)
      return
    }
    const isFirst = this.#project === undefined
    const before = isFirst ? 0 : this.#reached.seq
    // After a failure here, the next pull comes here again.
    const stored = parseCursor(await this.#unlessClosed(cursors.load(project)))
    if (this.isClosed) return
    this.#epoch = epoch
    this.#project = project
    this.#isStored = stored !== undefined
    if (this.#isStored) this.#gap = undefined
    if (isOpening && stored === undefined && from === 'head') {
      const { checkpointSeq: checkpoint_seq, end, head } = this.#follower.ground
      this.#begin({ ...head, checkpoint_seq }, { position: end, since: end.offset, gap: undefined })
      this.#committed = this.#reached
      return
    }
    this.#committed = stored ?? (isFirst ? this.#first() : NOWHERE)
    await this.#find(this.#committed)
    // Another store: what was not handed over of the old one is missing now.
    if (stored === undefined && before > 0) this.#gap = { from: 1, to: before, reason: 'rewound' }
    if (!this.#isStored && !isOpening) await this.#commit(this.#committed)
  }

  /** The cursor of a consumer that has none, in the first journal that it follows. */
  #first(): Cursor {
    const { from, projectId } = this.#options
    if (typeof from === 'string') return NOWHERE
    if (from.projectId !== undefined && from.projectId !== projectId()) return NOWHERE
    return { seq: from.seq, checkpoint_seq: 0, writer: from.writer ?? null }
  }

  async #find(cursor: Cursor): Promise<void> {
    const follower = this.#follower
    if (!follower.exists) return
    const start = await inSlices(follower.locate(cursor), () => this.isClosed)
    if (start === undefined) return
    this.#sought = cursor
    this.#skippedFrom = undefined
    // After a rewind the seqs that the consumer had reached mean nothing.
    this.#begin(start.gap?.reason === 'rewound' ? NOWHERE : cursor, start)
  }

  #begin(cursor: Cursor, start: Start): void {
    const { ground, source } = this.#follower
    this.#reached = Object.freeze({ ...cursor, checkpoint_seq: ground.checkpointSeq })
    this.#reader = source.reader(start.position)
    this.#start = start
    // That another store took the place of one is not found again with the place.
    this.#gap = start.gap ?? (this.#gap?.reason === 'rewound' ? this.#gap : undefined)
    this.#beyond = start.above ?? (this.#reached.seq > ground.head.seq ? this.#reached.seq : 0)
    this.#setMark()
  }

  /** What the consumer's storage answers, or undefined if the end comes before it does. */
  #unlessClosed<T>(answer: T): Promise<Awaited<T> | undefined> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => resolve(undefined)
      const isDone = (): void => void this.#askers.delete(giveUp)
      this.#askers.add(giveUp)
      Promise.resolve(answer).then(resolve, reject).finally(isDone)
      // No end comes for a wait that begins after the end: only an answer that is at hand counts.
      if (this.isClosed) void nextTurn().then(giveUp)
    })
  }

  async #end(): Promise<void> {
    // The promise that this returns must be in place before anything is woken to look at it.
    await Promise.resolve()
    this.#options.onEnd()
    this.#follower.news.raise()
    for (const give of this.#askers) give()
    // The system releases a closed watch at the end of a turn: in the one after it nothing is left.
    await nextTurn()
    await nextTurn()
  }
}

function isPromise(answer: unknown): answer is PromiseLike<unknown> {
  return typeof (answer as PromiseLike<unknown> | undefined | null)?.then === 'function'
}

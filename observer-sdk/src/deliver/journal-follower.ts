/** Follows a journal: knows where its end was, whether it can be read, and when places in it lose their meaning. */
import { type Head, nextTurn, Signal } from '@kim/manifest'
import type { Tip } from '../tail/directory.js'
import { type Batch, isSamePlace, type JournalReader } from '../tail/journal-reader.js'
import type { CursorLike, Ground, Start } from '../tail/locate.js'
import type { News, RecordSource } from '../tail/record-source.js'

/** Most bytes of lines read at a time for a consumer that waits: it has the first of a large write before the last are parsed. */
export const PART_BYTES: number = 64 * 1024
/** Most bytes of lines that a consumer is handed at a time that did not wait. */
const BATCH_BYTES = 1024 * 1024
/** How long a slice of work may last before others get their turn. */
const SLICE_MS = 20

/** What a follower reports to. */
export interface FollowerHost {
  /** The status may be another one. */
  readonly onStatus: () => void
  /** A bug of ours: everything is to be closed. */
  readonly onBug: (bug: unknown) => void
}

/** Why everything has to be looked for, or derived, once more. */
export type Loss = NonNullable<News['lost'] | Batch['lost']> | 'redaction' | 'first_lines'

/** The time since others last had their turn. */
export class Slice {
  #began = performance.now()

  get isOver(): boolean {
    return performance.now() - this.#began >= SLICE_MS
  }

  begin(): void {
    this.#began = performance.now()
  }
}

/** Runs to the end unless it is to stop, and then returns undefined. */
export async function inSlices<T>(work: Generator<void, T>, stops: () => boolean): Promise<T | undefined> {
  const slice = new Slice()
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return step.value
    if (!slice.isOver) continue
    await nextTurn()
    if (stops()) return undefined
    slice.begin()
  }
}

/** Follows a journal without a state. A consumer reads through it, from a place of its own. */
export class JournalFollower {
  readonly source: RecordSource
  /** Raised when there may be more to read, and when places have another meaning. */
  readonly news: Signal = new Signal()
  /** False if there is no journal. */
  exists = false
  /** Grows whenever places change their meaning. */
  epoch = 0
  protected readonly host: FollowerHost
  protected isClosed = false
  /** It goes on by itself: what is reported meanwhile is looked at then. */
  protected isBusy = false
  #isLooking = false
  #loss: Loss | undefined
  #ground: Ground | undefined
  #isReadable = true
  #failures = 0
  /** How much could not be read when the journal was looked at as a whole, or since. */
  #unread = 0
  #hasFuture = false
  #checkpointSeq: number | undefined
  /** The consumer's reader while the consumer waits at the end of what it read. */
  #waiting: JournalReader | undefined
  /** What was read for it at once when it came. */
  #ahead: Batch | undefined

  constructor(source: RecordSource, host: FollowerHost) {
    this.source = source
    this.host = host
  }

  /** What a place is looked for on. */
  get ground(): Ground {
    return this.#ground as Ground
  }

  protected set ground(ground: Ground) {
    this.#ground = ground
  }

  get head(): Head {
    return this.ground.head
  }

  /** The head of the newest verified checkpoint; 0 if there is none. */
  get checkpointSeq(): number {
    this.#checkpointSeq ??= this.source.checkpointSeq()
    return this.#checkpointSeq
  }

  /** Why not all of the journal was understood or read, sorted. */
  get reasons(): string[] {
    const isUnread = !this.#isReadable || this.#unread > 0
    return [...(this.#hasFuture ? ['future'] : []), ...(isUnread ? ['unreadable'] : [])]
  }

  /** Places mean nothing now, and will mean something else once the epoch has grown. */
  get isMoving(): boolean {
    return this.#isLooking || this.#loss !== undefined
  }

  /** Looks at the journal for the first time. */
  async open(): Promise<void> {
    await this.look(undefined)
  }

  /** Nothing is read or reported any more. */
  close(): void {
    this.isClosed = true
  }

  /** Something may have changed. */
  onNews({ exists, failures, lost, readable, tip }: News): void {
    this.guard(() => {
      this.#isReadable = readable || !exists
      if (failures > this.#failures) this.cannotRead(failures - this.#failures)
      this.#failures = failures
      this.host.onStatus()
      if (lost !== undefined) this.#loss ??= lost
      if (!this.isBusy) this.advance(tip)
    })
  }

  /** Where hand-over begins for a cursor. */
  *locate(cursor: CursorLike): Generator<void, Start> {
    if (cursor.seq > this.ground.head.seq) this.ground = yield* this.source.groundFor(cursor)
    return yield* this.source.locate(cursor, this.ground)
  }

  /** What comes next for a consumer; `isAwaited` if it waits. Undefined: `news` will be raised when it is there. */
  read(reader: JournalReader, isAwaited: boolean): Batch | undefined {
    const ahead = this.#ahead
    this.#ahead = undefined
    const isAhead = ahead !== undefined && isSamePlace(ahead.to, reader.position)
    const batch = isAhead ? ahead : this.#readCounting(reader, isAwaited)
    if (this.isFirst(batch)) return undefined
    this.#waiting = batch.more || batch.entries.length > 0 ? undefined : reader
    if (batch.passed !== undefined || !isSamePlace(batch.to, this.ground.end)) return batch
    return { ...batch, passed: this.head }
  }

  /** What the consumer reads by itself. If nothing more can be read there, everything is looked at once more. */
  protected readFor(reader: JournalReader, isAwaited: boolean, tip?: Tip): Batch {
    const batch = reader.read(isAwaited ? PART_BYTES : BATCH_BYTES, tip)
    const loss = this.isFirst(batch) ? 'first_lines' : batch.lost
    if (loss !== undefined && (loss === 'first_lines' || batch.entries.length === 0)) {
      this.lose(loss)
      void this.continue()
    }
    return batch
  }

  /** Whether these are the first records of a journal that had none: it could not state its id until now. */
  protected isFirst({ entries }: Batch): boolean {
    return entries.length > 0 && this.ground.end.offset === 0 && this.ground.head.seq === 0
  }

  /** Goes on: takes what came, or looks at everything once more. `tip`: the newest segment as it was just seen. */
  protected advance(tip: Tip | undefined): void {
    if (this.isClosed) return
    if (this.#loss !== undefined) void this.#lookAgain()
    else this.takeIn(tip)
  }

  /** Takes what came. A consumer that waits has it read at once: so it takes the bytes that the tip came with. */
  protected takeIn(tip: Tip | undefined): void {
    if (this.#waiting !== undefined) this.#ahead = this.#readCounting(this.#waiting, true, tip)
    this.#waiting = undefined
    this.news.raise()
  }

  /** Finds out about the journal as a whole; `reason` says why it is looked at once more. */
  protected async look(_reason: Loss | undefined): Promise<void> {
    const ground = await inSlices(this.source.ground(), () => this.isClosed)
    if (ground !== undefined) this.stand(ground)
  }

  /** Takes what is known of the journal as a whole. */
  protected stand(ground: Ground): void {
    this.exists = this.source.look().exists
    this.#failures = ground.failures
    this.#unread = ground.unreadable
    this.#checkpointSeq = undefined
    this.#waiting = undefined
    this.#ahead = undefined
    this.ground = ground
    this.epoch += 1
  }

  /** What had been read is no longer what is there. */
  protected lose(loss: Loss): void {
    this.#loss ??= loss
  }

  /** Goes on in the next turn, unless that is what happens already. */
  protected async continue(): Promise<void> {
    if (this.isBusy) return
    this.isBusy = true
    await nextTurn()
    this.isBusy = false
    this.guard(() => this.advance(undefined))
  }

  protected cannotRead(times: number): void {
    this.#unread += times
  }

  protected sawFuture(): void {
    this.#hasFuture = true
  }

  protected guard(step: () => void): void {
    try {
      step()
    } catch (bug) {
      this.host.onBug(bug)
    }
  }

  #readCounting(reader: JournalReader, isAwaited: boolean, tip?: Tip): Batch {
    const batch = this.readFor(reader, isAwaited, tip)
    if (batch.counts.has('unreadable')) this.cannotRead(1)
    if (batch.counts.has('future')) this.sawFuture()
    if (batch.counts.size > 0) this.host.onStatus()
    return batch
  }

  async #lookAgain(): Promise<void> {
    this.isBusy = true
    this.#isLooking = true
    const loss = this.#loss
    this.#loss = undefined
    try {
      await this.look(loss)
    } catch (bug) {
      this.host.onBug(bug)
      return
    }
    if (this.isClosed) return
    this.isBusy = false
    this.#isLooking = false
    // What was reported meanwhile is looked at again, and is either still so or was seen.
    this.#loss = undefined
    // What came meanwhile may have been looked at already, so that no look to come finds it new.
    this.onNews(this.source.look())
  }
}

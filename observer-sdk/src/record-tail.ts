import { parseCursor } from './cursors/cursor.js'
import { BareFollower } from './deliver/bare-follower.js'
import type { Change } from './deliver/change.js'
import { HandOver } from './deliver/hand-over.js'
import { nextTurn } from './deliver/slices.js'
import { type ObserverOptions, refuseInside } from './observer.js'
import { JournalSource } from './tail/journal-source.js'

/** Records of one journal as they come, without a state: what it costs does not grow with what stands there. */
export interface RecordTail extends AsyncDisposable {
  /** The newest record there was when it was opened. */
  readonly head: { readonly seq: number; readonly writer: string | null }
  /** The id the cursor is kept under. */
  readonly projectId: string
  /** Records as they come, at the consumer's pace. One consumer at a time. */
  changes(): AsyncGenerator<Change, void, undefined>
  close(): Promise<void>
}

/** What to follow, and for whom: as for an observer, which also derives the state. */
export type TailOptions = Pick<ObserverOptions, 'eventsDir' | 'cursors' | 'projectId' | 'from'>

/** Opens a tail. It follows the files by itself from then on. */
export async function openTail(options: TailOptions): Promise<RecordTail> {
  return await openTailWith(options, {})
}

/** As `openTail`, telling whenever everything at hand was handed over and a pull waits for more. */
export async function openTailWith(
  options: TailOptions,
  { onIdle }: { readonly onIdle?: () => void },
): Promise<RecordTail> {
  refuseInside(options.cursors, options.eventsDir)
  const tail = new JournalTail(options, onIdle)
  await tail.open()
  return tail
}

class JournalTail implements RecordTail {
  readonly #options: TailOptions
  readonly #source: JournalSource
  readonly #follower: BareFollower
  readonly #handOver: HandOver
  #wakers: (() => void)[] = []
  #watch: { close(): void } | undefined
  #closed: Promise<void> | undefined
  #bug: unknown

  constructor(options: TailOptions, onIdle: (() => void) | undefined) {
    this.#options = options
    this.#source = new JournalSource(options.eventsDir)
    const fail = (bug: unknown): void => {
      this.#bug ??= bug
      void this.close()
    }
    this.#follower = new BareFollower(this.#source, () => this.#wake(), fail)
    this.#handOver = new HandOver({
      follower: this.#follower,
      cursors: options.cursors,
      projectId: () => this.projectId,
      from: options.from ?? 'head',
      isClosed: () => this.#closed !== undefined,
      bug: () => this.#bug,
      news: () => new Promise(wake => this.#wakers.push(wake)),
      onIdle,
    })
  }

  async open(): Promise<void> {
    await this.#follower.open(0)
    const { seq = 0 } = parseCursor(await this.#options.cursors.load(this.projectId)) ?? {}
    if (seq > this.#follower.head.seq) await this.#follower.open(seq)
    await this.#handOver.open()
    this.#watch = this.#source.watch(news => this.#follower.onNews(news))
    // What was appended since rings no bell of ours.
    this.#follower.onNews(this.#source.look())
  }

  get head(): RecordTail['head'] {
    return this.#follower.head
  }

  get projectId(): string {
    return this.#follower.projectId ?? this.#options.projectId ?? this.#source.fallbackProjectId()
  }

  changes(): AsyncGenerator<Change, void, undefined> {
    let isStopped = false
    const changes = this.#handOver.changes(() => isStopped)
    const stop = changes.return.bind(changes)
    // A pull that waits for news would hold back the end of the iteration.
    changes.return = value => {
      isStopped = true
      this.#wake()
      return stop(value)
    }
    return changes
  }

  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #end(): Promise<void> {
    // The promise this returns must be in place before anybody is woken to look at it.
    await Promise.resolve()
    this.#watch?.close()
    this.#follower.close()
    this.#wake()
    // A closed watch is let go at the end of a turn: in the one after it nothing is left.
    await nextTurn()
    await nextTurn()
  }

  #wake(): void {
    for (const wake of this.#wakers.splice(0)) wake()
  }
}

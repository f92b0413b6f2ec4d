import { parseCursor } from '@kim/manifest'
import { checkOptions } from './check-options.js'
import { BareFollower } from './deliver/bare-follower.js'
import type { Change } from './deliver/change.js'
import { Pulls } from './deliver/pulls.js'
import type { ObserverOptions } from './observer.js'
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
  checkOptions(options)
  const tail = new JournalTail(options, onIdle)
  await tail.open()
  return tail
}

class JournalTail implements RecordTail {
  readonly #options: TailOptions
  readonly #source: JournalSource
  readonly #follower: BareFollower
  readonly #pulls: Pulls
  #watch: { close(): void } | undefined

  constructor(options: TailOptions, onIdle: (() => void) | undefined) {
    this.#options = options
    this.#source = new JournalSource(options.eventsDir)
    this.#follower = new BareFollower(
      this.#source,
      () => this.#pulls.wake(),
      bug => this.#pulls.fail(bug),
    )
    this.#pulls = new Pulls({
      follower: this.#follower,
      cursors: options.cursors,
      projectId: () => this.projectId,
      from: options.from ?? 'head',
      onIdle,
      onEnd: () => {
        this.#watch?.close()
        this.#follower.close()
      },
    })
  }

  async open(): Promise<void> {
    await this.#follower.open(0)
    const { seq = 0 } = parseCursor(await this.#options.cursors.load(this.projectId)) ?? {}
    if (seq > this.#follower.head.seq) await this.#follower.open(seq)
    await this.#pulls.open()
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
    return this.#pulls.changes()
  }

  close(): Promise<void> {
    return this.#pulls.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Opens an observer: source, state, delivery and the watch that keeps them going, and the end of all four. */
import type { AnomalyKind, ReadRecord } from '@kim/manifest'
import { checkOptions } from './check-options.js'
import type { CursorStore } from './cursors/cursor.js'
import type { Change } from './deliver/change.js'
import { Follower } from './deliver/follower.js'
import { ACTIVITY_MAX } from './deliver/follower-options.js'
import { Invalidations } from './deliver/invalidations.js'
import { Pulls } from './deliver/pulls.js'
import { SeqWaiters } from './deliver/waiters.js'
import type { Board, BoardSeed } from './project/board.js'
import type { Impact } from './project/impact.js'
import type { PersonaView } from './project/persona.js'
import type { StateView } from './project/state.js'
import { JournalSource } from './tail/journal-source.js'
import type { RecordSource } from './tail/source.js'
import type { WatchIntervals } from './watch/watch.js'

/** What to observe, and for whom. */
export interface ObserverOptions {
  /** The `events` directory of a store. It need not exist yet. */
  readonly eventsDir: string
  /** Where the consumer's cursor is kept: `memoryCursors()`, `fileCursors()`, `mementoCursors()`, or the host's own. */
  readonly cursors: CursorStore
  /** The id to keep the cursor under if the journal itself states none. */
  readonly projectId?: string
  /** What a consumer without a cursor is handed: what comes from now on (`head`), or everything there is (`start`). */
  readonly from?: 'head' | 'start'
  /** Numbers for the families the journal does not cover yet. */
  readonly seed?: BoardSeed
  /** How many activity records are kept. */
  readonly activityLimit?: number
  /** Closes the observer when it is aborted. */
  readonly signal?: AbortSignal
}

/** How an observer is doing. Reasons are sorted: `future`, `history`, `unreadable`. */
export interface ObserverStatus {
  readonly kind: 'live' | 'no_store' | 'degraded' | 'incomplete' | 'closed'
  readonly reasons: readonly string[]
}

/** An observer of one journal. Whatever is in the directory, it does not throw. */
export interface Observer extends AsyncDisposable {
  readonly status: ObserverStatus
  /** The highest seq applied, and the head of the newest verified checkpoint. */
  readonly head: { readonly seq: number; readonly checkpoint_seq: number; readonly writer: string | null }
  readonly state: StateView
  /** The newest activity, oldest first. */
  readonly activity: readonly ReadRecord[]
  /** How often each kind of anomaly was met. */
  readonly anomalies: Readonly<Partial<Record<AnomalyKind, number>>>
  /** Names of the personas the journal knows. */
  personas(): readonly string[]
  persona(name: string): PersonaView
  board(): Board
  /** The projection digest; parses every payload. */
  digest(): string
  /** The id the cursor is kept under. */
  readonly projectId: string
  /** Records as they come, at the consumer's pace. One consumer at a time. */
  changes(): AsyncGenerator<Change, void, undefined>
  /** Calls back, at most once a turn, when something became stale; what is returned removes the callback. */
  onInvalidate(callback: (stale: Impact) => void): () => void
  /** Resolves once that seq, or a later one, was applied; rejects when the observer is closed before. */
  waitFor(seq: number): Promise<void>
  /** Ends every watch, timer and pull. The committed cursor stays as it is. */
  close(): Promise<void>
}

/** Seams for tests, and for commands of this package that are done when nothing more is at hand. */
export interface ObserverSeams {
  readonly pace?: WatchIntervals
  readonly source?: RecordSource
  readonly now?: () => number
  /** Called whenever everything at hand was handed over and a pull waits for more. */
  readonly onIdle?: () => void
}

/**
 * Opens an observer. Resolves when state is whole as of now; it follows the files by itself from then on.
 *
 * @example
 * const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
 * for await (const change of observer.changes()) {
 *   for (const record of change.news) console.log(record.summary)
 * }
 */
export async function openObserver(options: ObserverOptions): Promise<Observer> {
  return await openObserverWith(options, {})
}

/** As `openObserver`, with a source, pace or clock of the caller's. */
export async function openObserverWith(options: ObserverOptions, seams: ObserverSeams): Promise<Observer> {
  options.signal?.throwIfAborted()
  checkOptions(options)
  const observer = new JournalObserver(options, seams)
  await observer.open()
  return observer
}

class JournalObserver implements Observer {
  readonly state: StateView
  readonly #options: ObserverOptions
  readonly #follower: Follower
  readonly #pulls: Pulls
  readonly #waiters = new SeqWaiters()
  readonly #invalidations: Invalidations
  readonly #abort = (): void => void this.close()
  #watch: { ring(): void; close(): void } | undefined

  constructor(options: ObserverOptions, { pace = {}, source, now = Date.now, onIdle }: ObserverSeams) {
    this.#options = options
    const fail = (bug: unknown): void => this.#pulls.fail(bug)
    this.#invalidations = new Invalidations(fail)
    this.#follower = new Follower({
      source: source ?? new JournalSource(options.eventsDir, pace),
      seed: options.seed,
      activityMax: options.activityLimit ?? ACTIVITY_MAX,
      now,
      onBatch: () => this.#pulls.wake(),
      onChange: (impact, by) => this.#onChange(impact, by),
      onBug: fail,
    })
    this.state = stableView(this.#follower)
    this.#pulls = new Pulls({
      follower: this.#follower,
      cursors: options.cursors,
      projectId: () => this.projectId,
      from: options.from ?? 'head',
      onIdle,
      onEnd: () => this.#end(),
    })
  }

  async open(): Promise<void> {
    const { signal } = this.#options
    await this.#follower.open()
    signal?.addEventListener('abort', this.#abort, { once: true })
    if (signal?.aborted === true) await this.close()
    try {
      await this.#pulls.open()
    } catch (refusal) {
      signal?.removeEventListener('abort', this.#abort)
      throw refusal
    }
    if (this.#pulls.isClosed) return await this.close()
    this.#watch = this.#follower.source.watch(news => this.#follower.onNews(news))
    // What was appended since the state was derived rings no bell of ours.
    this.#follower.onNews(this.#follower.source.look())
  }

  get status(): ObserverStatus {
    if (this.#pulls.isClosed) return { kind: 'closed', reasons: [] }
    if (!this.#follower.exists) return { kind: 'no_store', reasons: [] }
    const { reasons } = this.#follower
    if (reasons.length === 0) return { kind: 'live', reasons }
    return { kind: reasons.includes('history') ? 'incomplete' : 'degraded', reasons }
  }

  get head(): Observer['head'] {
    return { ...this.#follower.head, checkpoint_seq: this.#follower.snapshot.checkpointSeq }
  }

  get activity(): readonly ReadRecord[] {
    return this.#follower.activity
  }

  get anomalies(): Readonly<Partial<Record<AnomalyKind, number>>> {
    return this.#follower.anomalies()
  }

  get projectId(): string {
    const { snapshot, source } = this.#follower
    return snapshot.projectId ?? this.#options.projectId ?? source.fallbackProjectId()
  }

  personas(): readonly string[] {
    return this.#follower.roster.names()
  }

  persona(name: string): PersonaView {
    return this.#follower.roster.view(name)
  }

  board(): Board {
    return this.#follower.board.board(this.#follower.registryAuthoritative)
  }

  digest(): string {
    return this.#follower.state.digest()
  }

  changes(): AsyncGenerator<Change, void, undefined> {
    return this.#pulls.changes()
  }

  onInvalidate(callback: (stale: Impact) => void): () => void {
    return this.#invalidations.add(callback)
  }

  waitFor(seq: number): Promise<void> {
    return this.#waiters.wait(seq, this.#follower.head.seq)
  }

  close(): Promise<void> {
    return this.#pulls.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #end(): void {
    this.#options.signal?.removeEventListener('abort', this.#abort)
    this.#watch?.close()
    this.#follower.close()
    this.#invalidations.close()
    this.#waiters.close()
  }

  #onChange(impact: Impact, by: 'records' | 'derivation'): void {
    this.#invalidations.announce(impact)
    this.#waiters.reach(this.#follower.head.seq)
    // Whoever waits for records was woken when they were read.
    if (by === 'records') return
    this.#pulls.stale(impact)
    this.#pulls.wake()
  }
}

/** One object for the observer's life, whatever is derived anew behind it. */
function stableView(follower: Follower): StateView {
  return {
    get size() {
      return follower.state.size
    },
    get: (itemType, itemId) => follower.state.get(itemType, itemId),
    values: itemType => follower.state.values(itemType),
  }
}

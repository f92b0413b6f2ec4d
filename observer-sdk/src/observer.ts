/** Follows a journal and derives its state. */
import { type AnomalyKind, KimError, type ReadRecord } from '@kim/manifest'
import { StateFollower } from './deliver/state-follower.js'
import type { Board, BoardSeed } from './project/board.js'
import { type Impact, ImpactSet } from './project/impact.js'
import type { PersonaView } from './project/persona.js'
import type { StateView } from './project/state.js'
import { Callbacks, JournalTail, opened, type RecordTail, type TailOptions } from './record-tail.js'
import { RecordSource } from './tail/record-source.js'
import type { WatchIntervals } from './watch/watch.js'

/** What to observe, and its consumer. */
export interface ObserverOptions extends TailOptions {
  /** Numbers for the families the journal does not cover yet. */
  readonly seed?: BoardSeed
  /** How many activity records are kept. */
  readonly activityLimit?: number
}

/** Follows one journal and derives its state. Whatever is in the directory, it does not throw. */
export interface Observer extends RecordTail {
  /** The newest record that was applied to the state. */
  readonly head: RecordTail['head']
  /** The head of the newest verified checkpoint when the state was derived; 0 if there is none. */
  readonly checkpointSeq: number
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
  /** Calls back, at most once a turn, when something became stale; what is returned removes the callback. */
  onInvalidate(callback: (stale: Impact) => void): () => void
  /** Resolves once that seq, or a later one, was applied; rejects when the observer is closed before. */
  waitFor(seq: number): Promise<void>
}

/** Seams for tests. */
export interface ObserverSeams {
  readonly pace?: WatchIntervals
  readonly source?: RecordSource
  readonly now?: () => number
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
  return await opened(options, eventsDir => new JournalObserver(eventsDir, options, seams))
}

interface SeqWaiter {
  readonly seq: number
  readonly resolve: () => void
  readonly reject: (reason: KimError) => void
}

class JournalObserver extends JournalTail<StateFollower> implements Observer {
  readonly state: StateView
  readonly #invalidated: Callbacks<Impact>
  #stale = new ImpactSet()
  #telling: NodeJS.Immediate | undefined
  /** Those who wait for a seq to be applied. */
  #waiters: SeqWaiter[] = []

  constructor(
    eventsDir: string,
    options: ObserverOptions,
    { pace = {}, source, now = Date.now }: ObserverSeams,
  ) {
    const { activityLimit: activityMax, seed } = options
    super(
      options,
      host =>
        new StateFollower(source ?? new RecordSource(eventsDir, pace), host, { seed, activityMax, now }),
    )
    this.follower.onChange = (impact, by) => this.#onChange(impact, by)
    this.#invalidated = new Callbacks(bug => this.consumer.fail(bug))
    this.state = stableView(this.follower)
  }

  get activity(): readonly ReadRecord[] {
    return this.follower.activity
  }

  get anomalies(): Readonly<Partial<Record<AnomalyKind, number>>> {
    return this.follower.anomalies
  }

  personas(): readonly string[] {
    return this.follower.roster.names()
  }

  persona(name: string): PersonaView {
    return this.follower.roster.view(name)
  }

  board(): Board {
    return this.follower.board
  }

  digest(): string {
    return this.follower.state.digest()
  }

  onInvalidate(callback: (stale: Impact) => void): () => void {
    return this.#invalidated.add(callback)
  }

  waitFor(seq: number): Promise<void> {
    if (this.head.seq >= seq) return Promise.resolve()
    if (this.consumer.isClosed) return Promise.reject(closedError())
    return new Promise((resolve, reject) => {
      this.#waiters.push({ seq, resolve, reject })
    })
  }

  protected override end(): void {
    super.end()
    this.#invalidated.clear()
    clearImmediate(this.#telling)
    for (const { reject } of this.#waiters.splice(0)) reject(closedError())
  }

  #onChange(impact: Impact, by: 'records' | 'derivation'): void {
    this.checkStatus()
    if (!this.#invalidated.isEmpty) {
      this.#stale.addAll(impact)
      this.#telling ??= setImmediate(() => this.#tell())
    }
    const { seq: head } = this.head
    const due = this.#waiters.filter(({ seq }) => seq <= head)
    if (due.length > 0) this.#waiters = this.#waiters.filter(({ seq }) => seq > head)
    for (const { resolve } of due) resolve()
    // Consumers that wait for records were woken when these were read.
    if (by === 'derivation') this.consumer.stale(impact)
  }

  /** At most once a turn, with all that came together. */
  #tell(): void {
    this.#telling = undefined
    const impact = this.#stale.toImpact()
    this.#stale = new ImpactSet()
    this.#invalidated.call(impact)
  }
}

function closedError(): KimError {
  return new KimError('observer_closed', 'the observer was closed before that seq was applied')
}

/** One object for the observer's life, however often the state is derived. */
function stableView(follower: StateFollower): StateView {
  return {
    get size() {
      return follower.state.size
    },
    get: (itemType, itemId) => follower.state.get(itemType, itemId),
    values: itemType => follower.state.values(itemType),
  }
}

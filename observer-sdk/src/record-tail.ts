/** Follows a journal without deriving its state. */

import { homedir } from 'node:os'
import { defaultStore, type JsonObject, KimError, type ReadRecord, storePaths } from '@kim/manifest'
import type { CursorStore } from './cursors/cursor-stores.js'
import { type Change, ConsumerReader, type StartAfter } from './deliver/consumer-reader.js'
import { type FollowerHost, JournalFollower } from './deliver/journal-follower.js'
import { noJournalAt } from './store/no-journal.js'
import { listEntries } from './store/read-only-fs.js'
import { observedAround } from './store/real-path.js'
import { RecordSource } from './tail/record-source.js'

/** How a tail or an observer is doing. Reasons are sorted: `future`, `history`, `unreadable`. */
export interface ObserverStatus {
  readonly kind: 'live' | 'no_store' | 'degraded' | 'incomplete' | 'closed'
  readonly reasons: readonly string[]
}

/** The records of one journal, as they come. What it costs does not grow with the journal. */
export interface RecordTail extends AsyncDisposable {
  /** A tail does not know whether history is missing: only an observer is `incomplete`. */
  readonly status: ObserverStatus
  /** The newest record when the tail was opened, or when another journal took the place of the first. */
  readonly head: { readonly seq: number; readonly writer: string | null }
  /** The head of the newest verified checkpoint; 0 if there is none. A tail looks for it when this is read. */
  readonly checkpointSeq: number
  /** The id the cursor is kept under. */
  readonly projectId: string
  /** The `events` directory that is followed. */
  readonly eventsDir: string
  /** Records as they come, at the consumer's pace. One consumer at a time. */
  changes(): AsyncGenerator<Change, void, undefined>
  /** A record's payload, from its own file if it is in one; undefined if there is none, or if that file is missing or damaged. */
  payloadOf(record: ReadRecord): JsonObject | undefined
  /** Calls back when the status is another one. The function that is returned removes the callback. */
  onStatus(callback: (status: ObserverStatus) => void): () => void
  /** Calls back whenever everything there is was handed over and the consumer waits. What is returned removes the callback. */
  onIdle(callback: () => void): () => void
  /** Ends every watch, timer and pull. The committed cursor stays as it is. */
  close(): Promise<void>
}

/** What to follow, and its consumer. */
export interface TailOptions {
  /** The `events` directory of a store, or a store that exists. The directory need not exist yet. */
  readonly eventsDir?: string
  /** In place of `eventsDir`: the store. It need not exist yet. `defaultStore()` is the one that is used when none is named. */
  readonly storeDir?: string
  /** Where the consumer's cursor is kept: `memoryCursors()`, `fileCursors()`, `mementoCursors()`, or the host's own. */
  readonly cursors: CursorStore
  /** The id to keep the cursor under if the journal itself states none. */
  readonly projectId?: string
  /** Where a consumer without a cursor begins: after all there is (`head`), with the first record (`start`), or after a record. */
  readonly from?: 'head' | 'start' | StartAfter
  /** Closes the tail or the observer when it is aborted. */
  readonly signal?: AbortSignal
}

/**
 * Opens a tail. It follows the files by itself from then on.
 *
 * @example
 * const tail = await openTail({ eventsDir, cursors: memoryCursors() })
 * for await (const { lines } of tail.changes()) for (const { line } of lines) process.stdout.write(`${line}\n`)
 */
export async function openTail(options: TailOptions): Promise<RecordTail> {
  return await opened(options, eventsDir => {
    const source = new RecordSource(eventsDir)
    return new JournalTail(options, host => new JournalFollower(source, host))
  })
}

/** Checks the options, makes a tail and opens it. */
export async function opened<T extends JournalTail>(
  options: TailOptions,
  make: (eventsDir: string) => T,
): Promise<T> {
  options.signal?.throwIfAborted()
  const tail = make(checkedEvents(options))
  await tail.open()
  return tail
}

/** Refuses what types would have refused, of a host that has none, and cursors that would be a write into the store. */
function checkedEvents({ cursors, eventsDir: stated, storeDir }: TailOptions): string {
  const misuse = (message: string, hint: string): KimError => new KimError('usage', message, { hint })
  const named = stated ?? (storeDir && storePaths(storeDir).events)
  if (typeof named !== 'string' || named === '')
    throw misuse('eventsDir must be a path', 'pass the events directory of a store: <store>/events')
  // A store in place of its `events` directory would look like an empty journal.
  const inner = storePaths(named).events
  const eventsDir = noJournalAt(named) !== undefined && listEntries(inner).ok ? inner : named
  if (typeof cursors?.load !== 'function' || typeof cursors.save !== 'function')
    throw misuse('cursors must be a cursor store', 'use memoryCursors(), fileCursors() or mementoCursors()')
  const { directory } = cursors
  const store = eventsDir !== named ? named : stated === undefined ? storeDir : undefined
  const around = directory && observedAround({ eventsDir, storeDir: store }, directory)
  if (around)
    throw misuse(`cursors cannot be in ${directory}: it is in the store`, `use a directory outside ${around}`)
  return eventsDir
}

/** The store of a user that is used when none is named. */
export function storeOfUser(env: Readonly<Record<string, string | undefined>> = process.env): string {
  return defaultStore(env, homedir())
}

/** What a tail and an observer have in common: follower, consumer and watch, and the end of all three. */
export class JournalTail<Follower extends JournalFollower = JournalFollower> implements RecordTail {
  protected readonly follower: Follower
  protected readonly consumer: ConsumerReader
  readonly #options: TailOptions
  readonly #idle: Callbacks<void>
  readonly #statuses: Callbacks<ObserverStatus>
  /** The status that was given last, and the look at whether it is another one. */
  #given = ''
  #look: NodeJS.Immediate | undefined
  readonly #abort = (): void => void this.close()
  #watch: { close(): void } | undefined

  constructor(options: TailOptions, makeFollower: (host: FollowerHost) => Follower) {
    this.#options = options
    const onBug = (bug: unknown): void => this.consumer.fail(bug)
    this.#idle = new Callbacks(onBug)
    this.#statuses = new Callbacks(onBug)
    this.follower = makeFollower({ onStatus: () => this.checkStatus(), onBug })
    this.consumer = new ConsumerReader(this.follower, {
      cursors: options.cursors,
      projectId: () => this.projectId,
      from: options.from ?? 'head',
      onIdle: () => this.#idle.call(),
      onEnd: () => this.end(),
    })
  }

  async open(): Promise<void> {
    const { signal } = this.#options
    await this.follower.open()
    signal?.addEventListener('abort', this.#abort, { once: true })
    if (signal?.aborted === true) await this.close()
    try {
      await this.consumer.open()
    } catch (refusal) {
      signal?.removeEventListener('abort', this.#abort)
      throw refusal
    }
    if (this.consumer.isClosed) return await this.close()
    this.#watch = this.follower.source.watch(news => this.follower.onNews(news))
    // What was appended since the first look wakes no watch of ours.
    this.follower.onNews(this.follower.source.look())
  }

  get status(): ObserverStatus {
    if (this.consumer.isClosed) return { kind: 'closed', reasons: [] }
    if (!this.follower.exists) return { kind: 'no_store', reasons: [] }
    const { reasons } = this.follower
    if (reasons.length === 0) return { kind: 'live', reasons }
    return { kind: reasons.includes('history') ? 'incomplete' : 'degraded', reasons }
  }

  get head(): RecordTail['head'] {
    return this.follower.head
  }

  get checkpointSeq(): number {
    return this.follower.checkpointSeq
  }

  get projectId(): string {
    const { ground, source } = this.follower
    return ground.projectId ?? this.#options.projectId ?? source.fallbackProjectId()
  }

  get eventsDir(): string {
    return this.follower.source.eventsDir
  }

  changes(): AsyncGenerator<Change, void, undefined> {
    return this.consumer.changes()
  }

  payloadOf(record: ReadRecord): JsonObject | undefined {
    return this.follower.source.payloadOf(record)
  }

  onStatus(callback: (status: ObserverStatus) => void): () => void {
    if (this.#statuses.isEmpty) this.#given = textOf(this.status)
    return this.#statuses.add(callback)
  }

  onIdle(callback: () => void): () => void {
    return this.#idle.add(callback)
  }

  close(): Promise<void> {
    return this.consumer.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** The status may be another one: it is looked at in a later turn, when what changes it is done. */
  protected checkStatus(): void {
    if (!this.#statuses.isEmpty) this.#look ??= setImmediate(() => this.#giveStatus())
  }

  protected end(): void {
    this.#options.signal?.removeEventListener('abort', this.#abort)
    this.#watch?.close()
    this.follower.close()
    clearImmediate(this.#look)
    this.#giveStatus()
    this.#statuses.clear()
    this.#idle.clear()
  }

  #giveStatus(): void {
    this.#look = undefined
    const { status } = this
    if (this.#given === textOf(status)) return
    this.#given = textOf(status)
    this.#statuses.call(status)
  }
}

function textOf({ kind, reasons }: ObserverStatus): string {
  return [kind, ...reasons].join()
}

/** Functions that a host gave to be called back. One that throws is reported as a bug; the others are called all the same. */
export class Callbacks<T> {
  readonly #all = new Set<(value: T) => void>()
  readonly #onBug: (bug: unknown) => void

  constructor(onBug: (bug: unknown) => void) {
    this.#onBug = onBug
  }

  get isEmpty(): boolean {
    return this.#all.size === 0
  }

  /** Adds a callback. The function that is returned removes it. */
  add(callback: (value: T) => void): () => void {
    // A function of its own: a callback that was added twice is called twice and removed once.
    const own = (value: T): void => callback(value)
    this.#all.add(own)
    return () => {
      this.#all.delete(own)
    }
  }

  call(value: T): void {
    for (const callback of this.#all) {
      try {
        callback(value)
      } catch (bug) {
        this.#onBug(bug)
      }
    }
  }

  clear(): void {
    this.#all.clear()
  }
}

/** The door of the writer: open a journal, append, roll, close. */
import { type Head, isSegmentFull, KimError, limits, seqRoom } from '@kim/manifest'
import { everyStep, regardless } from '../effects/every-step.js'
import { loopTurn, type Turn } from '../effects/turn.js'
import type { AppendBatch, Appender, AppendResult } from './append.js'
import { type AppendOptions, type Draft, type Receipt, validateDrafts } from './draft.js'
import { EntityReader, type StoredEntity } from './entity-reader.js'
import { failure, isNoSpace } from './failure.js'
import type { GcReport } from './gc.js'
import { MetaCache } from './meta.js'
import { closeSession, type OpenHistory, openSession, type Session } from './open.js'
import type { Personas } from './persona.js'
import { retentionCommits } from './retention.js'
import type { JournalState } from './state.js'
import type { JournalOptions, OpenJournalOptions, Store } from './store.js'
import type { Upkeep } from './upkeep.js'

/** The state of the journal: for each entity, its newest record. */
export interface StoredState {
  /** How many entities are live. */
  readonly size: number
  /** A live entity; its payload is read from the disk. */
  get(itemType: string, itemId: string): StoredEntity | undefined
  /** Every live entity, or those of one type; each payload is read from the disk when its turn comes. */
  values(itemType?: string): Iterable<StoredEntity>
  /** The live entities of one type without their payloads: nothing is read from the disk. */
  outlines(itemType: string): Iterable<EntityOutline>
  /** True for a live entity; nothing is read from the disk. */
  has(itemType: string, itemId: string): boolean
  /** The last known revision of an entity, live or removed. */
  revisionOf(itemType: string, itemId: string): number | undefined
  /** What the records say about each persona. */
  readonly personas: Personas
  /** What the journal has announced about itself, as its checkpoints say it (JF-71). */
  readonly capabilities: ReadonlySet<string>
}

/** A live entity as the writer knows it without reading the disk. */
export interface EntityOutline {
  readonly item_id: string
  /** The seq of its newest record. */
  readonly seq: number
  /** True for a message that its persona has read, or that was redacted. */
  readonly read: boolean
}

/** An open journal: the only writer of its store. */
export interface Journal {
  /** Identifies the journal: 32 hexadecimal digits, the same in every segment. */
  readonly projectId: string
  /** Identifies this opening of the journal, in every record that it appends. */
  readonly writer: string
  /** The seq of the newest record, and the writer that appended it. */
  readonly head: Head
  /** Which records were there when the journal was opened. */
  readonly history: OpenHistory
  readonly state: StoredState
  /** False while a full disk keeps the journal from appending. */
  readonly isSettled: boolean
  /** Why the journal refuses everything; undefined if it does not. */
  readonly failure: unknown

  /**
   * Appends a batch in one commit and returns once it is durable. If it throws a `KimError`, nothing of the batch was
   * acknowledged. With `store_full`, try again, see `retryDelayMs`. With `journal_moved`, records of an earlier append
   * that failed are in the journal after all: compute the batch again from the state. `record_invalid`,
   * `record_too_large` and `commit_too_large` say what is wrong with the batch. After any other failure the journal
   * refuses everything.
   */
  append(drafts: readonly Draft[], options?: AppendOptions): Receipt
  /** As `append`, but batches that are submitted in one turn of the event loop share a commit. */
  submit(drafts: readonly Draft[], options?: AppendOptions): Promise<Receipt>
  /**
   * Finishes what a full disk left undone. Returns the seqs of records that a failed append left in the journal, and
   * that no earlier call returned.
   */
  settle(): readonly number[]
  /** Seals the segment now, retention first. */
  roll(): void
  /** Rolls, writes the checkpoint, and collects, before it returns. */
  checkpoint(): void
  /** Moves old segments and checkpoints to `archive/` before it returns. */
  gc(): GcReport
  /** What `gc` would move now. */
  gcPlan(): GcReport
  /** The seq up to which the newest verified checkpoint goes, 0 if there is none. */
  readonly checkpointSeq: number
  /**
   * Does one slice, of a few milliseconds, of the work that follows a roll. Returns true if there is more to do now.
   * Each append does a slice too; a host may call this when it is idle.
   */
  upkeep(): boolean
  /** Gives up the lock of the store. */
  close(): void
}

/** Commits of retention that one append does at most, so that none waits for all of them. */
const RETENTION_COMMITS = 2

const RETRY_MIN_MS = 1000
const RETRY_MAX_MS = 30_000

/** How many milliseconds to wait before the `attempt`-th try (from 1) of what a full disk refused. */
export function retryDelayMs(attempt: number): number {
  return Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.max(0, attempt - 1))
}

/**
 * Opens a store for writing. It creates the store if there is none and `source` is given, and finishes what a crash left.
 * It throws a `KimError`: `store_held` if another process writes the store, `source_mismatch` if the store belongs to
 * another source, `store_damaged`, `no_store`, `store_full` and others.
 */
export function openJournal(options: OpenJournalOptions): Journal {
  const { storeDir, source, log, segmentBytes, gc, gzip, retainRead } = options
  return openJournalWith({ storeDir, source, log, segmentBytes, gc, gzip, retainRead })
}

/** The same, with effects that can be replaced. */
export function openJournalWith(options: JournalOptions): Journal {
  const session = openSession(options)
  try {
    return new OpenJournal(session, options)
  } catch (error) {
    regardless(() => closeSession(session))
    throw error
  }
}

/** A batch whose caller waits for the end of the turn. */
interface Waiting {
  readonly batch: AppendBatch
  readonly resolve: (receipt: Receipt) => void
  readonly reject: (error: unknown) => void
}

/** While upkeep is behind, a slice of it is done for so many bytes that are appended. */
const UPKEEP_BYTES = 64 * 1024
/** After this long no other slice is begun, whatever is due: the append waits for it. */
const UPKEEP_MS = 25

class OpenJournal implements Journal {
  readonly projectId: string
  readonly writer: string
  readonly history: OpenHistory
  readonly state: StoredState
  readonly #store: Store
  readonly #session: Session
  readonly #appender: Appender
  readonly #state: JournalState
  readonly #upkeep: Upkeep
  readonly #readBack: EntityReader
  readonly #meta: MetaCache
  readonly #turn: Turn
  readonly #segmentBytes: number
  readonly #retainRead: number
  #retention: Generator<Draft[]> | undefined
  #waiting: Waiting[] = []
  #isOpen = true

  constructor(session: Session, options: JournalOptions) {
    const { store, appender, state, projectId, history, upkeep } = session
    this.#session = session
    this.#store = store
    this.#appender = appender
    this.#state = state
    this.#upkeep = upkeep
    this.projectId = projectId
    this.writer = appender.writer
    this.history = history
    this.#readBack = new EntityReader(store)
    this.state = viewOf(state, this.#readBack)
    this.#meta = new MetaCache(store, projectId)
    this.#turn = options.turn ?? loopTurn
    this.#segmentBytes = options.segmentBytes ?? limits.segmentBytesMax
    this.#retainRead = options.retainRead ?? limits.readMessagesRetainedMax
    this.#warnOfEnd()
    this.#rollIfFull()
  }

  get head(): Head {
    return this.#state.head
  }

  get isSettled(): boolean {
    return this.#appender.isSettled
  }

  get failure(): unknown {
    return this.#appender.failure
  }

  append(drafts: readonly Draft[], options: AppendOptions = {}): Receipt {
    const [outcome] = this.#commit([{ drafts: validateDrafts(drafts), options }])
    if (outcome === undefined) throw new KimError('internal', 'a batch without an outcome')
    if ('refused' in outcome) throw outcome.refused
    return outcome.receipt
  }

  submit(drafts: readonly Draft[], options: AppendOptions = {}): Promise<Receipt> {
    return new Promise((resolve, reject) => {
      const batch = { drafts: validateDrafts(drafts), options }
      if (this.#waiting.length === 0) this.#turn.soon(() => this.#flush())
      this.#waiting.push({ batch, resolve, reject })
    })
  }

  #flush(): void {
    const waiting = this.#waiting
    this.#waiting = []
    let outcomes: AppendResult[]
    try {
      outcomes = this.#commit(waiting.map(({ batch }) => batch))
    } catch (error) {
      for (const { reject } of waiting) reject(error)
      return
    }
    for (const [at, { resolve, reject }] of waiting.entries()) {
      const outcome = outcomes[at]
      if (outcome !== undefined && 'receipt' in outcome) resolve(outcome.receipt)
      else reject(outcome?.refused)
    }
  }

  #commit(batches: readonly AppendBatch[]): AppendResult[] {
    const appender = this.#appender
    appender.settle()
    const adopted = appender.unreportedSeqs.length
    const isBlind = (batch: AppendBatch): boolean =>
      adopted > 0 && batch.drafts.some(draft => draft.key === undefined)
    const fit = batches.filter(batch => !isBlind(batch))
    const { length } = appender.segment
    const outcomes = appender.append(fit)
    if (fit.length < batches.length) appender.markReported()
    if (appender.failure === undefined) this.#follow(appender.segment.length - length)
    let next = 0
    return batches.map(batch => {
      if (isBlind(batch)) return { refused: moved(adopted) }
      return outcomes[next++] ?? { refused: new KimError('internal', 'a batch without an outcome') }
    })
  }

  /** What may follow a commit. Whatever of it needs space that is not there can wait. */
  #follow(bytes: number): void {
    this.#meta.note(this.#appender.nextSeq, this.#appender.segment.number)
    this.#rollIfFull()
    // What outruns its upkeep pays for it as it comes: nothing else bounds what the next checkpoint has to hold.
    const slices = this.#upkeep.isBehind ? Math.ceil(bytes / UPKEEP_BYTES) : 1
    const { clock } = this.#store
    const until = clock.monoMs() + UPKEEP_MS
    for (let left = slices; left > 0 && this.#upkeep.step() && clock.monoMs() < until; ) left--
  }

  settle(): readonly number[] {
    this.#appender.settle()
    const adopted = this.#appender.unreportedSeqs
    this.#appender.markReported()
    this.#rollIfFull()
    return adopted
  }

  #rollIfFull(): void {
    if (!isSegmentFull(this.#appender.segment.length, this.#segmentBytes)) return
    if (!this.#appender.isSettled || seqRoom(this.#appender.nextSeq) === 'none') return
    try {
      if (this.#retain(RETENTION_COMMITS)) this.#roll()
    } catch (error) {
      if (!isNoSpace(error)) throw error
    }
  }

  /** Does some of what retention asks for before a roll; true if nothing is left of it. */
  #retain(commits: number): boolean {
    const state = this.#state
    this.#retention ??= retentionCommits(
      { state, view: entity => this.#readBack.view(entity) },
      this.#retainRead,
    )
    for (let n = 0; n < commits; n++) {
      const retention = this.#retention
      const next = this.#appender.guard(() => retention.next())
      if (next.done === true) {
        this.#retention = undefined
        return true
      }
      // What changed since it was found is left for the next roll.
      const drafts = next.value.filter(({ action, item_type, item_id }) => {
        return action !== 'delete' || state.entities.get(item_type, item_id)?.read === true
      })
      try {
        // Without its `known_from` a deleted message would be taken for one that never came (JF-80).
        this.#appender.appendOne(drafts, { tx: true })
      } catch (error) {
        // What was not appended is not done: the next roll finds it again.
        this.#retention = undefined
        throw error
      }
    }
    return false
  }

  #roll(): void {
    this.#upkeep.sealed(this.#appender.roll(this.projectId))
    this.#warnOfEnd()
    this.#appender.settle()
    this.#meta.write(this.#appender.nextSeq, this.#appender.segment.number)
  }

  #warnOfEnd(): void {
    if (seqRoom(this.#appender.nextSeq) === 'plenty') return
    this.#store.log({
      level: 'error',
      code: 'seq_running_out',
      message: `sequence numbers are running out: the next is ${this.#appender.nextSeq}, the last is ${limits.seqMax}`,
      hint: 'plan the move to a new store directory now; after the last number nothing can be appended',
    })
  }

  roll(): void {
    this.#appender.settle()
    while (!this.#retain(RETENTION_COMMITS)) {
      // one commit after the other
    }
    this.#roll()
  }

  checkpoint(): void {
    this.roll()
    this.#upkeep.finish()
  }

  gc(): GcReport {
    return this.#appender.guard(() => this.#upkeep.collect())
  }

  gcPlan(): GcReport {
    return this.#upkeep.plan()
  }

  get checkpointSeq(): number {
    return this.#upkeep.base?.header.head_seq ?? 0
  }

  upkeep(): boolean {
    return this.#upkeep.step()
  }

  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    const { nextSeq, segment, failure: failed } = this.#appender
    everyStep(
      () => {
        if (failed === undefined && this.isSettled) this.#meta.write(nextSeq, segment.number)
      },
      () => this.#readBack.close(),
      () => closeSession(this.#session),
    )
  }
}

function viewOf(state: JournalState, readBack: EntityReader): StoredState {
  const view: StoredState = {
    get size() {
      return state.size
    },
    get personas() {
      return state.personas(view)
    },
    get(itemType, itemId) {
      const entity = state.find(itemType, itemId)
      return entity === undefined ? undefined : readBack.view(entity)
    },
    *values(itemType) {
      for (const entity of state.values(itemType)) yield readBack.view(entity)
    },
    *outlines(itemType) {
      const { entities } = state
      for (const { item_id, image } of entities.entries(itemType))
        yield { item_id, seq: image.seq, read: image.read }
    },
    has: (itemType, itemId) => state.entities.get(itemType, itemId) !== undefined,
    revisionOf: (itemType, itemId) => state.revisionOf(itemType, itemId),
    capabilities: state.capabilities,
  }
  return view
}

function moved(records: number): KimError {
  return failure(
    'journal_moved',
    `${records} records of an append that failed are in the journal after all`,
    'nothing of this batch was appended; compute it again from the current state, then append it',
  )
}

/** The door of the writer: open a journal, append, roll, close. */
import { type Head, isSegmentFull, type KimError, limits, seqRoom } from '@kim/manifest'
import { loopTurn, type Turn } from '../effects/clock.js'
import { everyStep, regardless } from '../effects/every-step.js'
import { type AppendBatch, type Appender, type AppendResult, receiptOf } from './append.js'
import { type AppendOptions, type Draft, type Receipt, validateDrafts } from './draft.js'
import { EntityReader, type StoredState, WriterState } from './entity-reader.js'
import { failure, isNoSpace } from './failure.js'
import type { GcReport } from './gc.js'
import { closeSession, type OpenHistory, openSession, type Session } from './open.js'
import { retentionCommits } from './retention.js'
import { MetaCache } from './state.js'
import type { JournalOptions, OpenJournalOptions } from './store.js'
import type { Upkeep } from './upkeep.js'

/** An open journal: the only writer of its store. */
export interface Journal extends Omit<OpenJournal, 'state'> {
  readonly state: StoredState
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
export function openJournalWith(options: JournalOptions): OpenJournal {
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

/** An open journal as the producer uses it. */
export class OpenJournal {
  /** Identifies the journal: 32 hexadecimal digits, the same in every segment. */
  readonly projectId: string
  /** Identifies this opening of the journal, in every record that it appends. */
  readonly writer: string
  /** Which records were there when the journal was opened. */
  readonly history: OpenHistory
  readonly state: WriterState
  readonly #session: Session
  readonly #appender: Appender
  readonly #upkeep: Upkeep
  readonly #readBack: EntityReader
  readonly #meta: MetaCache
  readonly #turn: Turn
  readonly #segmentBytes: number
  readonly #retainRead: number
  #retention: Generator<Draft[]> | undefined
  readonly #waiting: Waiting[] = []
  #isOpen = true

  constructor(session: Session, options: JournalOptions) {
    const { store, appender, state, projectId, history, upkeep } = session
    this.#session = session
    this.#appender = appender
    this.#upkeep = upkeep
    this.projectId = projectId
    this.writer = appender.writer
    this.history = history
    this.#readBack = new EntityReader(store)
    this.state = new WriterState(state, this.#readBack)
    this.#meta = new MetaCache(store, projectId)
    this.#turn = options.turn ?? loopTurn
    this.#segmentBytes = options.segmentBytes ?? limits.segmentBytesMax
    this.#retainRead = options.retainRead ?? limits.readMessagesRetainedMax
    this.#warnOfEnd()
    this.#rollIfFull()
  }

  /** The seq of the newest record, and the writer that appended it. */
  get head(): Head {
    return this.#session.state.head
  }

  /** False while a full disk keeps the journal from appending. */
  get isSettled(): boolean {
    return this.#appender.isSettled
  }

  /** Why the journal refuses everything; undefined if it does not. */
  get failure(): unknown {
    return this.#appender.failure
  }

  /**
   * Appends a batch in one commit and returns once it is durable. If it throws a `KimError`, nothing of the batch was
   * acknowledged. With `store_full`, try again, see `retryDelayMs`. With `journal_moved`, records of an earlier append
   * that failed are in the journal after all: compute the batch again from the state. `record_invalid`,
   * `record_too_large` and `commit_too_large` say what is wrong with the batch. After any other failure the journal
   * refuses everything.
   */
  append(drafts: readonly Draft[], options: AppendOptions = {}): Receipt {
    const [result] = this.#commit([{ drafts: validateDrafts(drafts), options }])
    return receiptOf(result)
  }

  /** As `append`, but batches that are submitted in one turn of the event loop share a commit. */
  submit(drafts: readonly Draft[], options: AppendOptions = {}): Promise<Receipt> {
    return new Promise((resolve, reject) => {
      const batch = { drafts: validateDrafts(drafts), options }
      if (this.#waiting.length === 0) this.#turn.soon(() => this.#flush())
      this.#waiting.push({ batch, resolve, reject })
    })
  }

  #flush(): void {
    const waiting = this.#waiting.splice(0)
    let results: readonly AppendResult[]
    try {
      results = this.#commit(waiting.map(({ batch }) => batch))
    } catch (error) {
      results = waiting.map(() => ({ refused: error }))
    }
    for (const [at, { resolve, reject }] of waiting.entries()) {
      const result = results[at]
      if (result !== undefined && 'receipt' in result) resolve(result.receipt)
      else reject(result?.refused)
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
    const results = appender.append(fit).values()
    if (fit.length < batches.length) appender.markReported()
    if (appender.failure === undefined) this.#follow(appender.segment.length - length)
    return batches.flatMap(batch =>
      isBlind(batch) ? { refused: moved(adopted) } : (results.next().value ?? []),
    )
  }

  /** What may follow a commit. Whatever of it needs space that is not there can wait. */
  #follow(bytes: number): void {
    this.#meta.note(this.#appender.nextSeq, this.#appender.segment.number)
    this.#rollIfFull()
    // What outruns its upkeep pays for it as it comes: nothing else bounds what the next checkpoint has to hold.
    const slices = this.#upkeep.isBehind ? Math.ceil(bytes / UPKEEP_BYTES) : 1
    const { clock } = this.#session.store
    const until = clock.monoMs() + UPKEEP_MS
    for (let left = slices; left > 0 && this.#upkeep.step() && clock.monoMs() < until; ) left--
  }

  /**
   * Finishes what a full disk left undone. Returns the seqs of records that a failed append left in the journal, and
   * that no earlier call returned.
   */
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
      if (this.#retain()) this.#roll()
    } catch (error) {
      if (!isNoSpace(error)) throw error
    }
  }

  /** Does some of what retention asks for before a roll; true if nothing is left of it. */
  #retain(): boolean {
    const { state } = this.#session
    this.#retention ??= retentionCommits(state, this.state, this.#retainRead)
    for (let n = 0; n < RETENTION_COMMITS; n++) {
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
    this.#session.store.log({
      level: 'error',
      code: 'seq_running_out',
      message: `sequence numbers are running out: the next is ${this.#appender.nextSeq}, the last is ${limits.seqMax}`,
      hint: 'plan the move to a new store directory now; after the last number nothing can be appended',
    })
  }

  /** Seals the segment now, retention first. */
  roll(): void {
    this.#appender.settle()
    while (!this.#retain()) {
      // one commit after the other
    }
    this.#roll()
  }

  /** Rolls, writes the checkpoint, and collects, before it returns. */
  checkpoint(): void {
    this.roll()
    this.#upkeep.finish()
  }

  /** Moves old segments and checkpoints to `archive/` before it returns. */
  gc(): GcReport {
    return this.#appender.guard(() => this.#upkeep.collect())
  }

  /** What `gc` would move now. */
  gcPlan(): GcReport {
    return this.#upkeep.plan()
  }

  /** The seq up to which the newest verified checkpoint goes, 0 if there is none. */
  get checkpointSeq(): number {
    return this.#upkeep.base?.header.head_seq ?? 0
  }

  /**
   * Does one slice, of a few milliseconds, of the work that follows a roll. Returns true if there is more to do now.
   * Each append does a slice too; a host may call this when it is idle.
   */
  upkeep(): boolean {
    return this.#upkeep.step()
  }

  /** Gives up the lock of the store. */
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

function moved(records: number): KimError {
  return failure(
    'journal_moved',
    `${records} records of an append that failed are in the journal after all`,
    'nothing of this batch was appended; compute it again from the current state, then append it',
  )
}

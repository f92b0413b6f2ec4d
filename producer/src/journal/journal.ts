/** The door of the writer: open a journal, append, roll, close. */
import type { Head, KimError } from '@kim/manifest'
import { everyStep, regardless } from '../effects/every-step.js'
import { loopTurn, type Turn } from '../effects/system.js'
import { type AppendBatch, type Appender, type AppendResult, receiptOf } from './append.js'
import { failure } from './disk-errors.js'
import { type AppendOptions, type Draft, type Receipt, validateDrafts } from './draft.js'
import { EntityReader, type StoredState, WriterState } from './entity-reader.js'
import { closeSession, type OpenHistory, openSession, type Session } from './open.js'
import type { GcReport, Upkeep } from './roll.js'
import type { JournalOptions, OpenJournalOptions } from './store.js'

/** An open journal: the only writer of its store. */
export interface Journal extends Omit<OpenJournal, 'state'> {
  readonly state: StoredState
}

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
  readonly #turn: Turn
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
    this.#turn = options.turn ?? loopTurn
    this.#upkeep.warnOfEnd()
    this.#upkeep.rollIfFull(this.state)
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
    this.#upkeep.meta.note(this.#appender.nextSeq, this.#appender.segment.number)
    this.#upkeep.rollIfFull(this.state)
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
    this.#upkeep.rollIfFull(this.state)
    return adopted
  }

  /** Seals the segment now, retention first. */
  roll(): void {
    this.#upkeep.roll(this.state)
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

  /** What `gc` would move now, or after `coming` more checkpoints. */
  gcPlan(coming = 0): GcReport {
    return this.#upkeep.plan(coming)
  }

  /** The names of what was moved to `archive/` since the journal was opened. */
  get archived(): readonly string[] {
    return this.#upkeep.archived
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
        if (failed === undefined && this.isSettled) this.#upkeep.meta.write(nextSeq, segment.number)
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

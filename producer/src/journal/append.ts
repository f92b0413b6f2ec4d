import { Buffer } from 'node:buffer'
import { KimError, limits } from '@kim/manifest'
import type { HeldLock } from '../effects/store-lock.js'
import type { ActiveSegment } from './active-segment.js'
import { type BuiltRecord, CommitBuilder } from './commit-builder.js'
import type { AppendOptions, Draft, Receipt } from './draft.js'
import { failure, isNoSpace } from './failure.js'
import { requireLock } from './lock.js'
import { Recovery } from './recover.js'
import type { JournalState } from './state.js'
import type { Store } from './store.js'

/** A batch on its way into a commit. */
export interface AppendBatch {
  readonly drafts: readonly Draft[]
  readonly options: AppendOptions
}

/** What became of a batch: its receipt, or why it was refused. */
export type AppendResult = { readonly receipt: Receipt } | { readonly refused: unknown }

/** What an appender begins with. */
export interface AppenderStart {
  readonly store: Store
  readonly lock: HeldLock
  readonly state: JournalState
  readonly writer: string
  readonly nextSeq: number
  readonly segment: ActiveSegment
}

/**
 * The one path to the disk: whatever is appended goes through `commit`, and whatever goes wrong there decides
 * what this process may still do. A full disk leaves it waiting; anything else ends it.
 */
export class Appender {
  readonly #store: Store
  readonly #lock: HeldLock
  readonly #state: JournalState
  readonly #writer: string
  readonly #scratch: Buffer = Buffer.allocUnsafe(limits.commitBytesMax)
  #segment: ActiveSegment
  #nextSeq: number
  /** The record a segment must begin with, until one stands in it. */
  #first: readonly Draft[] = []
  /** The pins owed for mail that a power loss may have taken, asked for once the end of the file is known. */
  #pins: () => readonly Draft[] = () => []
  /** Set while nobody knows what stands at the end of the file. */
  #recovery: Recovery | undefined
  /** Records that a failed write had left standing, until somebody who has to know was told. */
  #unreportedSeqs: readonly number[] = []
  #dead: unknown

  constructor(start: AppenderStart) {
    this.#store = start.store
    this.#lock = start.lock
    this.#state = start.state
    this.#writer = start.writer
    this.#nextSeq = start.nextSeq
    this.#segment = start.segment
  }

  get segment(): ActiveSegment {
    return this.#segment
  }

  get nextSeq(): number {
    return this.#nextSeq
  }

  get writer(): string {
    return this.#writer
  }

  /** False while something must be settled before anything can be appended. */
  get isSettled(): boolean {
    return this.#recovery === undefined && this.#first.length === 0
  }

  /** Why this appender refuses everything, if it does. */
  get failure(): unknown {
    return this.#dead
  }

  /** Runs a step that must succeed or pass with space; any other failure is the end of this appender. */
  guard<T>(step: () => T): T {
    this.#requireLife()
    try {
      return step()
    } catch (error) {
      if (!isHarmless(error)) this.#dead = error
      throw error
    }
  }

  #requireLife(): void {
    if (this.#dead === undefined) return
    throw failure(
      'journal_closed',
      'the journal accepts no more records: an earlier write failed',
      'what was acknowledged is kept; start the process again: opening checks what the disk holds',
      this.#dead,
    )
  }

  /** Refuses everything from now on. */
  close(): void {
    this.#dead ??= failure('journal_closed', 'the journal is closed', 'open the journal again')
    this.#segment.close()
  }

  /** Goes on in a segment that was just made; its first record is owed. */
  enter(segment: ActiveSegment, first: readonly Draft[]): void {
    this.#segment.close()
    this.#segment = segment
    this.#first = first
  }

  /** Takes over from an open: what stands at the end is known, what is owed for it is not yet paid. */
  resume(
    recovery: Recovery | undefined,
    first: readonly Draft[],
    pins: () => readonly Draft[] = () => [],
  ): void {
    this.#recovery = recovery
    this.#first = first
    this.#pins = pins
  }

  /**
   * The seqs of records that a failed write had left standing: nobody was told of them, and they are part of the
   * journal now. They stay news, whatever is done meanwhile, until `told`.
   */
  get unreportedSeqs(): readonly number[] {
    return this.#unreportedSeqs
  }

  /** Whoever derives records from the state knows of what stands. */
  markReported(): void {
    this.#unreportedSeqs = []
    this.#recovery?.told()
  }

  /** Makes sure that the end of the file is known and that nothing is owed. */
  settle(): void {
    this.guard(() => this.#settle())
  }

  #settle(): void {
    const recovery = this.#recovery
    if (recovery !== undefined) this.#lookAt(recovery)
    // Each has a sync of its own: what comes later must never survive what came before (RC-5).
    this.#pay(recovery === undefined || recovery.begins ? this.#first : [])
    const pinned = this.#pay(this.#pins())
    this.#pay(recovery?.owed() ?? [])
    this.#first = []
    this.#pins = () => []
    this.#recovery = undefined
    // After a full disk, callers derived records from a state without the pins.
    this.#unreportedSeqs = [...new Set([...this.#unreportedSeqs, ...pinned, ...(recovery?.adopted ?? [])])]
  }

  #lookAt(recovery: Recovery): void {
    this.#segment.fence(false)
    this.#segment.sync()
    recovery.judge()
    this.#nextSeq = Math.max(this.#nextSeq, this.#segment.highest + 1)
  }

  /** Returns the seqs of what it appended. */
  #pay(drafts: readonly Draft[]): readonly number[] {
    const seqs: number[] = []
    for (let at = 0; at < drafts.length; at += limits.commitRecordsMax) {
      const builder = this.#builder()
      seqs.push(...builder.add(drafts.slice(at, at + limits.commitRecordsMax), {}).seqs)
      this.#write(builder)
    }
    return seqs
  }

  /**
   * Appends batches in as few commits as their sizes allow. A batch that breaks a rule is refused alone, and what
   * stood before a commit that failed keeps its receipts.
   */
  append(batches: readonly AppendBatch[]): AppendResult[] {
    this.#requireLife()
    const outcomes: AppendResult[] = []
    let durable = 0
    try {
      let builder = this.#builder()
      for (const { drafts, options } of batches) {
        let outcome = tryAdd(builder, drafts, options)
        if ('refused' in outcome && isCode(outcome.refused, 'commit_too_large') && builder.built.length > 0) {
          this.#write(builder)
          durable = outcomes.length
          builder = this.#builder()
          outcome = tryAdd(builder, drafts, options)
        }
        outcomes.push(outcome)
      }
      this.#write(builder)
      return outcomes
    } catch (error) {
      if (!isHarmless(error)) this.#dead = error
      // A refusal too may have had its reason in a record of the commit that failed.
      return batches.map((_, at) => (at < durable ? outcomes[at] : undefined) ?? { refused: error })
    }
  }

  #builder(): CommitBuilder {
    return new CommitBuilder(this.#store, this.#state, this.#writer, this.#nextSeq, this.#scratch)
  }

  /** Durable, then visible: the one function that does both, in this order. */
  #write(builder: CommitBuilder): void {
    const { built, bytes } = builder
    if (built.length === 0) return
    const { switches } = this.#store
    requireLock(this.#lock, this.#store)
    this.#segment.fence(switches.skipLengthCheck !== true)
    try {
      this.#segment.write(bytes)
    } catch (error) {
      if (isNoSpace(error)) this.#distrust()
      throw error
    }
    if (switches.receiptBeforeSync === true) this.#takeOver(built, bytes)
    this.#segment.sync()
    if (switches.receiptBeforeSync !== true) this.#takeOver(built, bytes)
  }

  /** A write failed: some of it may stand in the file. */
  #distrust(): void {
    this.#recovery ??= new Recovery(this.#store, this.#state, this.#segment, {
      wholeFile: false,
      after: this.#nextSeq - 1,
    })
  }

  #takeOver(built: readonly BuiltRecord[], bytes: Buffer): void {
    const { file, length: base } = this.#segment
    for (const { record, effect, offset, length } of built) {
      this.#state.apply(record, effect, { file, offset: base + offset, length })
      this.#segment.see(record.seq)
    }
    this.#segment.advance(bytes)
    this.#nextSeq += built.length
  }
}

function tryAdd(builder: CommitBuilder, drafts: readonly Draft[], options: AppendOptions): AppendResult {
  try {
    return { receipt: builder.add(drafts, options) }
  } catch (error) {
    if (!isHarmless(error)) throw error
    return { refused: error }
  }
}

const isCode = (error: unknown, code: string): boolean => error instanceof KimError && error.code === code

const HARMLESS = new Set<string>([
  'store_full',
  'record_invalid',
  'record_too_large',
  'commit_too_large',
  'seq_exhausted',
  'journal_moved',
  'journal_closed',
])

/** True for a failure after which this process still knows what the disk holds, or can find out. */
function isHarmless(error: unknown): boolean {
  return error instanceof KimError && HARMLESS.has(error.code)
}

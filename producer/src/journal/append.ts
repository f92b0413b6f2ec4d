/** The one path to the disk: append, settle what a failed write left open, roll. */
import { Buffer } from 'node:buffer'
import { createHash, type Hash } from 'node:crypto'
import { join } from 'node:path'
import { invariant, KimError, limits, segmentName } from '@kim/manifest'
import type { HeldLock } from '../effects/store-lock.js'
import type { FileStat } from '../effects/system.js'
import { type Boundary, takeBoundary } from './checkpoint.js'
import { attempt, failure, fenced, isNoSpace, syncFailed } from './disk-errors.js'
import { type AppendOptions, type BuiltRecord, CommitBuilder, type Draft, type Receipt } from './draft.js'
import type { Disk } from './file-ops.js'
import type { JournalState } from './journal-state.js'
import { sealNote } from './notes.js'
import { Recovery } from './recover.js'
import type { Sealed } from './segment-scan.js'
import type { Store } from './store.js'

/** The segment that is appended to: its descriptor, and what this process knows of its bytes. */
export class ActiveSegment {
  readonly number: number
  readonly path: string
  /** How long the file is, as far as this process wrote or read it. */
  length = 0
  /** The hash of those bytes, for the seal. */
  readonly hash: Hash = createHash('sha256')
  /** First and highest seq of the valid records in it; 0 while there is none. */
  firstSeq = 0
  lastSeq = 0
  /** The highest seq of any line in it, those of later versions included: what follows must be above it. */
  highest = 0
  readonly #disk: Disk
  readonly #fd: number
  readonly #own: FileStat
  #open = true

  constructor(disk: Disk, number: number, path: string, fresh: boolean) {
    const { fd, stat } = disk.openAppend(path, fresh)
    this.#disk = disk
    this.#fd = fd
    this.#own = stat
    this.number = number
    this.path = path
  }

  /**
   * Throws unless the path still leads to this file and no other writer wrote to it. After a write that failed the
   * file may be longer than what is known of it, never shorter.
   */
  fence(checkLength: boolean): void {
    const found = this.#disk.look(this.path)
    if (found === undefined) throw fenced(`${this.path} is missing`)
    if (found.ino !== this.#own.ino || found.dev !== this.#own.dev) throw fenced(`${this.path} was replaced`)
    if (checkLength ? found.size !== this.length : found.size < this.length) {
      throw fenced(`${this.path} has ${found.size} bytes, but this process wrote ${this.length}`)
    }
  }

  /** One write. After a failure it is unknown how much of it the file took; `length` stays. */
  write(bytes: Uint8Array): void {
    this.#disk.write(this.#fd, bytes, this.path)
  }

  sync(): void {
    this.#disk.syncData(this.#fd, this.path)
  }

  /** Takes over bytes that are now known to be in the file. */
  advance(bytes: Uint8Array): void {
    this.length += bytes.length
    this.hash.update(bytes)
  }

  /** The segment as its seal will state it. */
  get sealed(): Sealed {
    return {
      segment: segmentName(this.number),
      bytes: this.length,
      sha256: this.hash.copy().digest('hex'),
      first_seq: this.firstSeq,
      last_seq: this.lastSeq,
    }
  }

  /** It holds a valid record with this seq. */
  see(seq: number): void {
    if (this.firstSeq === 0) this.firstSeq = seq
    if (seq > this.lastSeq) this.lastSeq = seq
    this.pass(seq)
  }

  /** It holds a line with this seq that is no record of this version. */
  pass(seq: number): void {
    if (seq > this.highest) this.highest = seq
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    this.#disk.close(this.#fd)
  }
}

/** A batch on its way into a commit. */
export interface AppendBatch {
  readonly drafts: readonly Draft[]
  readonly options: AppendOptions
}

/** What became of a batch: its receipt, or why it was refused. */
export type AppendResult = { readonly receipt: Receipt } | { readonly refused: unknown }

/** The receipt of a batch; throws if it was refused. */
export function receiptOf(result: AppendResult | undefined): Receipt {
  invariant(result !== undefined, 'a batch has a result')
  if ('refused' in result) throw result.refused
  return result.receipt
}

/** What an appender begins with. */
export interface AppenderStart {
  readonly store: Store
  readonly lock: HeldLock
  readonly state: JournalState
  readonly writer: string
  readonly nextSeq: number
  readonly segment: ActiveSegment
  /** What an open knows of the end of the segment, if the segment was there. */
  readonly recovery?: Recovery
  /** The record that the segment must begin with, if it has none. */
  readonly first: readonly Draft[]
  /** The pins owed for mail that a power loss may have taken, asked for once the end of the file is known. */
  readonly pins?: () => readonly Draft[]
}

/** Memory for the lines of a commit. An append is one synchronous call, so the journals of a process share it. */
const scratch: Buffer = Buffer.allocUnsafe(limits.commitBytesMax)

/**
 * Whatever is appended goes through `#write`, and whatever goes wrong there decides what this process may still do: a
 * full disk leaves it waiting, anything else ends it.
 */
export class Appender {
  readonly #store: Store
  readonly #lock: HeldLock
  readonly #state: JournalState
  readonly writer: string
  #segment: ActiveSegment
  #nextSeq: number
  /** The record that a segment must begin with, until the segment has it. */
  #first: readonly Draft[]
  #pins: () => readonly Draft[]
  /** Set while it is unknown what the end of the file holds. */
  #recovery: Recovery | undefined
  #unreportedSeqs: readonly number[] = []
  #dead: unknown

  constructor(start: AppenderStart) {
    this.#store = start.store
    this.#lock = start.lock
    this.#state = start.state
    this.writer = start.writer
    this.#nextSeq = start.nextSeq
    this.#segment = start.segment
    this.#recovery = start.recovery
    this.#first = start.first
    this.#pins = start.pins ?? (() => [])
  }

  get segment(): ActiveSegment {
    return this.#segment
  }

  get nextSeq(): number {
    return this.#nextSeq
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
      'recorded mail is safe; start the process again: opening checks what the disk holds',
      this.#dead,
    )
  }

  /** Refuses everything from now on. */
  close(): void {
    this.#dead ??= failure('journal_closed', 'the journal is closed', 'open the journal again')
    this.#segment.close()
  }

  /**
   * The seqs of records that a failed write left in the journal, and of which no caller knows yet. They stay here until
   * `markReported`.
   */
  get unreportedSeqs(): readonly number[] {
    return this.#unreportedSeqs
  }

  /** Every caller that derives records from the state now knows of these. */
  markReported(): void {
    this.#unreportedSeqs = []
    this.#recovery?.markReported()
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
   * Appends batches in as few commits as their sizes allow. A batch that breaks a rule is refused alone. If a commit
   * fails, the batches of earlier commits keep their receipts.
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

  /** Appends one batch, or throws. */
  appendOne(drafts: readonly Draft[], options: AppendOptions = {}): Receipt {
    const [result] = this.append([{ drafts, options }])
    return receiptOf(result)
  }

  #builder(): CommitBuilder {
    return new CommitBuilder(this.#store, this.#state, this.writer, this.#nextSeq, scratch)
  }

  /**
   * Seals the segment and goes on in a new one, whose first record says what was sealed. Until that record is written,
   * nothing else is appended. Returns what the state was at the end of the sealed segment.
   */
  roll(projectId: string): Boundary {
    return this.guard(() => {
      const old = this.#segment
      // What is sealed must be what this process knows of it.
      old.fence(this.#store.switches.skipLengthCheck !== true)
      old.sync()
      const { sealed } = old
      this.#segment = createSegment(this.#store, this.#nextSeq)
      this.#first = [sealNote(sealed, projectId)]
      old.close()
      return takeBoundary(this.#state, sealed)
    })
  }

  /** Durable, then visible: the one function that does both, in this order. */
  #write(builder: CommitBuilder): void {
    const { built, bytes } = builder
    if (built.length === 0) return
    const { switches } = this.#store
    this.#requireLock()
    this.#segment.fence(switches.skipLengthCheck !== true)
    try {
      this.#segment.write(bytes)
    } catch (error) {
      // Some of it may be in the file.
      if (isNoSpace(error))
        this.#recovery ??= new Recovery(this.#store, this.#state, this.#segment, this.#nextSeq - 1)
      throw error
    }
    if (switches.receiptBeforeSync === true) this.#takeOver(built, bytes)
    this.#segment.sync()
    if (this.#recovery !== undefined) {
      // What is written while the end is settled is read like what was found there: the rest may fail, and is tried again.
      this.#recovery.read()
      this.#nextSeq = Math.max(this.#nextSeq, this.#segment.highest + 1)
    } else if (switches.receiptBeforeSync !== true) this.#takeOver(built, bytes)
  }

  /** Throws unless the lock is still held. If its path cannot be read, the disk is at fault, and the lock is not lost. */
  #requireLock(): void {
    const { lock: path } = this.#store.paths
    const isIntact = attempt(`read the attributes of the lock file ${path}`, () => this.#lock.intact())
    if (!isIntact) throw fenced('the lock file of the store was removed or replaced')
  }

  #takeOver(built: readonly BuiltRecord[], bytes: Buffer): void {
    const { path, length: base } = this.#segment
    for (const { record, effect, offset, length } of built) {
      this.#state.apply(record, effect, { path, offset: base + offset, length })
      this.#segment.see(record.seq)
    }
    this.#segment.advance(bytes)
    this.#nextSeq += built.length
  }
}

/**
 * Makes a new segment. If its file is there and yet something failed, this process must not go on in the old one,
 * whatever it was: a segment with a higher number is the newest, so a new process has to finish the roll.
 */
function createSegment({ disk, paths }: Store, number: number): ActiveSegment {
  const path = join(paths.events, segmentName(number))
  let fresh: ActiveSegment | undefined
  try {
    fresh = new ActiveSegment(disk, number, path, true)
    disk.syncDirectory(paths.events)
    return fresh
  } catch (error) {
    fresh?.close()
    if (!isNoSpace(error) || disk.look(path) === undefined) throw error
    throw syncFailed(`${path} was created, but its name may not be durable`, error)
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

import { Buffer } from 'node:buffer'
import { basename, dirname, join } from 'node:path'
import {
  belongsInBlob,
  blobPath,
  type RecordClocks as ClockReading,
  clipSummary,
  type Effect,
  type EventRecord,
  effectOf,
  encodeRecord,
  jcs,
  KimError,
  limits,
  type PayloadRef,
  sha256Hex,
  type Tx,
  tempName,
  toWellFormed,
} from '@kim/manifest'
import type { AppendOptions, Draft, Receipt } from './draft.js'
import { failure } from './failure.js'
import { NOTE_TYPE } from './notes.js'
import type { JournalState } from './state.js'
import type { Store } from './store.js'

/** A record in a commit, and where in the commit's bytes its line stands. */
export interface BuiltRecord {
  readonly record: EventRecord
  readonly effect: Effect
  readonly offset: number
  /** Without the `\n`. */
  readonly length: number
}

/** One instant, read once a commit. */
interface Instant {
  readonly ts: string
  readonly mono_ms: number
  readonly boot_ms: number | undefined
}

function readInstant(store: Store): Instant {
  const { clock } = store
  const wall = new Date(clock.wallMs())
  if (Number.isNaN(wall.getTime())) {
    throw failure(
      'record_invalid',
      'the system clock returned an invalid time',
      'nothing was appended; correct the clock',
    )
  }
  return {
    ts: wall.toISOString(),
    mono_ms: clock.monoMs(),
    boot_ms: clock.bootMs?.(),
  }
}

/** What an unfinished batch may have changed, so that a refused one leaves nothing behind. */
interface Mark {
  readonly bytes: number
  readonly count: number
  readonly nextSeq: number
}

/** Bytes that one UTF-16 code unit may take. */
const UTF8_BYTES_MAX = 3

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] }

/**
 * Turns drafts into the bytes of one commit. It sees the state and the records built before, and changes
 * nothing: what it built becomes so when the bytes are durable.
 */
export class CommitBuilder {
  readonly #store: Store
  readonly #state: JournalState
  readonly #writer: string
  readonly #scratch: Buffer
  readonly #instant: Instant
  /** The ids built so far: only one of them can have a revision that the state does not know yet. */
  readonly #ids: Set<string> = new Set()
  readonly #keys: Map<string, number> = new Map()
  readonly #built: BuiltRecord[] = []
  #bytes = 0
  #nextSeq: number

  constructor(store: Store, state: JournalState, writer: string, nextSeq: number, scratch: Buffer) {
    this.#store = store
    this.#state = state
    this.#writer = writer
    this.#nextSeq = nextSeq
    this.#scratch = scratch
    this.#instant = readInstant(store)
  }

  /** The records in the order of their lines. */
  get built(): readonly BuiltRecord[] {
    return this.#built
  }

  /** The lines; valid until the scratch buffer is used again. */
  get bytes(): Buffer {
    return this.#scratch.subarray(0, this.#bytes)
  }

  /** Adds a batch whole, or nothing of it. The receipt holds once the bytes are durable. */
  add(drafts: readonly Draft[], options: AppendOptions): Receipt {
    const mark: Mark = { bytes: this.#bytes, count: this.#built.length, nextSeq: this.#nextSeq }
    try {
      return this.#addAll(drafts, options.tx === true)
    } catch (error) {
      this.#undo(mark)
      throw error
    }
  }

  #addAll(drafts: readonly Draft[], asRun: boolean): Receipt {
    const known = drafts.map(draft => this.#knownSeq(draft))
    const answered = known.reduce<number>((count, seq) => (seq === undefined ? count : count + 1), 0)
    const fresh = drafts.length - answered - this.#repeats(drafts, known)
    if (asRun && fresh > 0 && answered > 0) {
      throw failure(
        'record_invalid',
        `${answered} of the ${drafts.length} keys of a transaction are known`,
        'nothing was appended; to retry a transaction, use exactly the same keys',
      )
    }
    if (this.#built.length + fresh > limits.commitRecordsMax) throw this.#tooLarge()
    const run = asRun && fresh > 1 ? { id: this.#store.random.hex(8), n: fresh } : undefined
    const seqs: number[] = []
    const deduped: boolean[] = []
    let i = 0
    for (const [at, draft] of drafts.entries()) {
      const seq = known[at] ?? this.#knownSeq(draft)
      deduped.push(seq !== undefined)
      if (seq === undefined) i++
      seqs.push(seq ?? this.#append(draft, run === undefined ? undefined : { ...run, i }))
    }
    return { seqs, deduped }
  }

  /** Drafts whose key an earlier draft of the same batch bears: they are one record with it. */
  #repeats(drafts: readonly Draft[], known: readonly (number | undefined)[]): number {
    if (this.#store.switches.skipKeyLookup === true) return 0
    const keys = drafts.flatMap(({ key }, at) => (key === undefined || known[at] !== undefined ? [] : [key]))
    return keys.length - new Set(keys).size
  }

  #knownSeq({ key }: Draft): number | undefined {
    if (key === undefined || this.#store.switches.skipKeyLookup === true) return undefined
    return this.#keys.get(key) ?? this.#state.keys.find(key)
  }

  #append(draft: Draft, tx: Tx | undefined): number {
    const seq = this.#nextSeq
    const { record, line } = this.#encode(this.#describe(draft, seq, tx))
    const room = this.#scratch.length - this.#bytes
    // No character takes more than three bytes, so few lines have to be measured.
    if (line.length * UTF8_BYTES_MAX > room && Buffer.byteLength(line) > room) throw this.#tooLarge()
    const length = this.#scratch.write(line, this.#bytes, 'utf8')
    const effect = effectOf(record)
    this.#built.push({ record, effect, offset: this.#bytes, length: length - 1 })
    this.#ids.add(record.item_id)
    if (record.key !== undefined) this.#keys.set(record.key, seq)
    this.#bytes += length
    this.#nextSeq++
    return seq
  }

  #describe(draft: Draft, seq: number, tx: Tx | undefined): EventRecord {
    const record: Mutable<EventRecord> = {
      v: 2,
      seq,
      ts: this.#instant.ts,
      writer: this.#writer,
      agent: draft.agent,
      action: draft.action,
      item_type: draft.item_type,
      item_id: draft.item_id,
      entity_rev: this.#revision(draft),
      summary: typeof draft.summary === 'string' ? clipSummary(draft.summary) : draft.summary,
      clock: this.#clock(draft.wait_ms),
    }
    if (draft.payload !== undefined) record.payload = draft.payload
    if (draft.event !== undefined) record.event = draft.event
    if (draft.key !== undefined) record.key = draft.key
    if (draft.actor !== undefined) record.actor = draft.actor
    if (tx !== undefined) record.tx = tx
    return record
  }

  /** One more than the last for a change of state, the last for anything else about the entity; notes have none. */
  #revision(draft: Draft): number {
    if (draft.item_type === NOTE_TYPE) return 0
    const last = this.#lastRevision(draft.item_type, draft.item_id)
    const effect = effectOf(draft)
    return effect === 'upsert' || effect === 'remove' ? last + 1 : last
  }

  #lastRevision(itemType: string, itemId: string): number {
    if (this.#ids.has(itemId)) {
      for (let at = this.#built.length - 1; at >= 0; at--) {
        const built = this.#built[at]
        if (built?.record.item_id !== itemId || built.record.item_type !== itemType) continue
        if (built.effect === 'upsert' || built.effect === 'remove') return built.record.entity_rev
      }
    }
    return this.#state.revisionOf(itemType, itemId) ?? 0
  }

  #clock(wait: number | undefined): ClockReading {
    const { mono_ms, boot_ms } = this.#instant
    const clock: Mutable<ClockReading> = { mono_ms }
    if (boot_ms !== undefined) clock.boot_ms = boot_ms
    if (wait !== undefined) clock.wait_ms = wait
    return clock
  }

  /** The line of a record; a payload that is too large for one goes into a blob first. */
  #encode(record: EventRecord): { readonly record: EventRecord; readonly line: string } {
    try {
      return { record, line: encodeRecord(record) }
    } catch (error) {
      // A value that JSON cannot carry (a cycle, a BigInt) is the caller's mistake, not the end of the journal.
      if (!(error instanceof KimError)) {
        throw failure(
          'record_invalid',
          'a draft holds a value that JSON cannot represent',
          'nothing was appended',
          error,
        )
      }
      if (error.code !== 'record_too_large' || record.payload === undefined) throw error
      if (record.item_type === NOTE_TYPE) throw error
      const bytes = Buffer.from(jcs(toWellFormed(record.payload)))
      if (!belongsInBlob(bytes.length)) throw error
      const { payload, ...rest } = record
      const payload_ref: PayloadRef = writeBlob(this.#store, bytes)
      const referring: EventRecord = { ...rest, payload_ref }
      return { record: referring, line: encodeRecord(referring) }
    }
  }

  #tooLarge(): KimError {
    return failure(
      'commit_too_large',
      `more than ${limits.commitRecordsMax} records or ${limits.commitBytesMax} bytes in one commit`,
      'nothing of the batch was appended; commit fewer records at once',
    )
  }

  #undo(mark: Mark): void {
    this.#bytes = mark.bytes
    this.#nextSeq = mark.nextSeq
    this.#built.length = mark.count
    // Ids that are no longer built only cost a look that finds nothing.
    this.#keys.clear()
    for (const { record } of this.#built) if (record.key !== undefined) this.#keys.set(record.key, record.seq)
  }
}

/**
 * Puts a payload into a blob, durably, and returns what stands for it in the line. A blob that is already there
 * may be one whose writer died before its name was durable, so its directory is synced again.
 */
function writeBlob(store: Store, bytes: Buffer): PayloadRef {
  const sha256 = sha256Hex(bytes)
  const path = join(store.paths.blobs, blobPath(sha256))
  const { disk, paths } = store
  const directory = dirname(path)
  disk.ownDirectory(directory)
  if (!holds(store, path, bytes)) disk.writeDurably(join(directory, tempName(basename(path))), path, [bytes])
  else disk.syncDirectory(directory)
  disk.syncDirectory(paths.blobs)
  return { sha256, bytes: bytes.length }
}

function holds(store: Store, path: string, bytes: Buffer): boolean {
  const stat = store.disk.look(path)
  if (stat === undefined || !stat.isFile() || stat.size !== bytes.length) return false
  return store.disk.readWhole(path)?.equals(bytes) === true
}

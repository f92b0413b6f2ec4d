import { createHash, type Hash } from 'node:crypto'
import {
  DuplicateFinder,
  decodeLine,
  effectOf,
  type FramedLine,
  LineFramer,
  lineMark,
  type ReadRecord,
  sha256Hex,
  TxTracker,
} from '@kim/manifest'

/** A valid record and where in its file its line stands, without the `\n`. */
export interface ScannedRecord {
  readonly record: ReadRecord
  readonly offset: number
  readonly length: number
  /** As long as the chunk is that it came in. */
  readonly bytes: Uint8Array
}

/** A record that waits for its run, which may end in a later chunk: its bytes are not asked for any more. */
interface Marked {
  readonly scanned: ScannedRecord
  readonly mark: number
}

/** A terminated line that is no record, by the offsets of its first byte and of its `\n`. */
export interface ScannedRange {
  readonly from: number
  readonly to: number
  /** Undefined for a line too long to be held. */
  readonly sha256: string | undefined
  /** True for a line with a byte that no writer of ours writes and that a page that was never written is made of. */
  readonly hasZeros: boolean
}

/** A run that will never be complete, or what stands of one whose beginning is lost. */
export interface AbandonedRun {
  /** True if its first record stands. */
  readonly began: boolean
  readonly tx_id: string
  readonly first_seq: number
  readonly last_seq: number
  readonly records: number
  readonly n: number
}

/** What a scan tells, in file order. Everything is optional: each user listens to what it needs. */
export interface ScanListener {
  /** A valid record, before it is known whether it has an effect. */
  valid?(scanned: ScannedRecord): void
  /** A record that has its effect now. */
  effective?(scanned: ScannedRecord): void
  /** A record that never has one, because its run is not complete. */
  dropped?(scanned: ScannedRecord): void
  /** The run that dropped records belonged to; of a run whose beginning is lost, each record by itself. */
  abandoned?(run: AbandonedRun): void
  /** A line of a later version. */
  future?(seq: number | undefined): void
  malformed?(range: ScannedRange): void
}

/**
 * Reads one segment, as its bytes come, the way every reader must: the one place of the writer that knows what
 * a line is, which records have an effect and which do not. It may begin anywhere a line begins.
 */
export class SegmentScan {
  readonly #listener: ScanListener
  readonly #framer: LineFramer
  readonly #runs: TxTracker<Marked> = new TxTracker()
  readonly #duplicates: DuplicateFinder = new DuplicateFinder()
  readonly #hash: Hash
  #bytes: number
  #first: ReadRecord | undefined
  #last = 0

  /** `hash` is that of the bytes before `offset`; a scan of a whole file needs neither. */
  constructor(listener: ScanListener, offset = 0, hash: Hash = createHash('sha256')) {
    this.#listener = listener
    this.#framer = new LineFramer(offset)
    this.#bytes = offset
    this.#hash = hash
  }

  /** The first valid record of what was scanned. */
  get first(): ReadRecord | undefined {
    return this.#first
  }

  /** The highest seq of a valid record; 0 if there is none. */
  get lastSeq(): number {
    return this.#last
  }

  /** Bytes taken so far, those before the start included. */
  get bytes(): number {
    return this.#bytes
  }

  /** The hash of all bytes so far; it goes on when the file does. */
  get hash(): Hash {
    return this.#hash
  }

  /** The hash of all bytes so far as a segment's seal states it. */
  get sha256(): string {
    return this.#hash.copy().digest('hex')
  }

  /** Where the unterminated rest begins; undefined if the last byte is a `\n`. */
  get fragmentAt(): number | undefined {
    const { offset, length } = this.#framer.pending
    return length === 0 ? undefined : offset
  }

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.length
    this.#hash.update(chunk)
    for (const line of this.#framer.push(chunk)) this.#take(line)
  }

  /** The run that the lines end inside of, if they do. */
  get openRun(): AbandonedRun | undefined {
    return describeRun(this.#runs.pending.map(({ scanned }) => scanned))
  }

  /** No more lines will come: a run that is still open has no effect, now or ever. */
  finish(): void {
    this.#drop(this.#runs.interrupt())
  }

  #take(line: FramedLine): void {
    if (line.kind === 'too_long') {
      this.#noise()
      this.#listener.malformed?.({
        from: line.offset,
        to: line.offset + line.length,
        sha256: undefined,
        hasZeros: false,
      })
      return
    }
    const { bytes, offset } = line
    const decoded = decodeLine(bytes, line.atFileStart)
    if (decoded.kind === 'blank') return
    if (decoded.kind === 'record') {
      this.#record({ record: decoded.record, offset, length: bytes.length, bytes })
      return
    }
    this.#noise()
    if (decoded.kind === 'future') this.#listener.future?.(decoded.seq)
    else {
      const range = { from: offset, to: offset + bytes.length, sha256: sha256Hex(bytes) }
      this.#listener.malformed?.({ ...range, hasZeros: bytes.includes(0) })
    }
  }

  #record(scanned: ScannedRecord): void {
    const { record } = scanned
    this.#first ??= record
    if (record.seq > this.#last) this.#last = record.seq
    this.#listener.valid?.(scanned)
    const { dropped, released } = this.#runs.record(record, { scanned, mark: lineMark(scanned.bytes) })
    this.#drop(dropped)
    for (const { scanned: one, mark } of released) {
      // The same line twice in one segment counts once.
      const effect = effectOf(one.record)
      if (this.#duplicates.see(one.record, effect, mark) !== 'duplicate_line') this.#listener.effective?.(one)
    }
  }

  #noise(): void {
    this.#drop(this.#runs.interrupt())
  }

  #drop(waiting: readonly Marked[]): void {
    if (waiting.length === 0) return
    const dropped = waiting.map(({ scanned }) => scanned)
    for (const one of dropped) this.#listener.dropped?.(one)
    const run = describeRun(dropped)
    if (run !== undefined) this.#listener.abandoned?.(run)
    for (const { record } of dropped.slice(run?.records ?? 0)) {
      const { seq, tx } = record
      if (tx === undefined || tx === 'malformed') continue
      const { id, n } = tx
      this.#listener.abandoned?.({ began: false, tx_id: id, first_seq: seq, last_seq: seq, records: 1, n })
    }
  }
}

/** The run at the start of dropped records, if they began as one; a stray record behind it is no part of it. */
function describeRun(records: readonly ScannedRecord[]): AbandonedRun | undefined {
  const first = records[0]?.record
  if (first?.tx === undefined || first.tx === 'malformed' || first.tx.i !== 1) return undefined
  const { id, n } = first.tx
  let last = first
  let count = 0
  for (const { record } of records) {
    const { tx } = record
    if (tx === undefined || tx === 'malformed' || tx.id !== id || tx.i !== count + 1) break
    if (record.writer !== first.writer) break
    count++
    last = record
  }
  return { began: true, tx_id: id, first_seq: first.seq, last_seq: last.seq, records: count, n }
}

/** Adds a run to those found so far in one segment; what stands of a run without its beginning is named together. */
export function addRun(runs: AbandonedRun[], run: AbandonedRun): void {
  const last = runs.at(-1)
  if (run.began || last === undefined || last.began || last.tx_id !== run.tx_id) runs.push(run)
  else runs[runs.length - 1] = { ...last, last_seq: run.last_seq, records: last.records + run.records }
}

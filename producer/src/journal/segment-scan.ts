/** What the writer finds out by reading a segment: its first record, its seal, its damage, its abandoned transactions. */
import { createHash, type Hash } from 'node:crypto'
import {
  isJsonObject,
  type MalformedLine,
  type ReadRecord,
  type SegmentLine,
  type SegmentListener,
  SegmentReader,
  sha256Hex,
  type TailFeatures,
} from '@kim/manifest'
import { type SegmentFile, segmentChunks } from './listing.js'
import type { Store } from './store.js'

/** A sealed segment as its seal states it. */
export interface Sealed {
  readonly segment: string
  readonly bytes: number
  readonly sha256: string
  readonly first_seq: number
  readonly last_seq: number
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

/** A transaction that will never be complete, or what is left of one whose beginning is lost. */
export interface AbandonedRun {
  /** True if its first record is there. */
  readonly began: boolean
  readonly tx_id: string
  readonly first_seq: number
  readonly last_seq: number
  readonly records: number
  readonly n: number
}

/** What a scan reports, in file order: what a reader reports, and the damage in the words of notes. */
export interface ScanListener extends Pick<SegmentListener, 'released' | 'dropped' | 'future'> {
  valid?(line: SegmentLine): void
  /** The transaction that dropped records belonged to; if its beginning is lost, each record by itself. */
  abandoned?(run: AbandonedRun): void
  torn?(range: ScannedRange): void
}

/**
 * Reads one segment as its bytes come, with its hash, its first and highest record and the runs that it abandons. It may
 * begin anywhere a line begins.
 */
export class SegmentScan {
  readonly #listener: ScanListener
  readonly #reader: SegmentReader
  readonly #hash: Hash
  /** Bytes taken so far, those before the start included. */
  bytes: number
  /** The first valid record of what was scanned. */
  first: ReadRecord | undefined
  /** The highest seq of a valid record; 0 if there is none. */
  lastSeq = 0

  /** `hash` is that of the bytes before `offset`, and the scan updates it. A scan of a whole file needs neither. */
  constructor(listener: ScanListener, offset = 0, hash: Hash = createHash('sha256')) {
    this.#listener = listener
    this.bytes = offset
    this.#hash = hash
    this.#reader = new SegmentReader(
      {
        ...listener,
        valid: line => this.#valid(line),
        dropped: lines => this.#drop(lines),
        malformed: line => this.#malformed(line),
      },
      { offset },
    )
  }

  /** Where the line begins that the file ends in. */
  get fragmentAt(): number {
    return this.#reader.end
  }

  /** What that line would be if it ended here. */
  get fragment(): TailFeatures['fragment'] {
    return this.#reader.fragment
  }

  /** The segment as its seal has to state it. */
  sealOf({ name: segment, number }: SegmentFile): Sealed {
    const { bytes } = this
    const sha256 = this.#hash.copy().digest('hex')
    // A file without a record has no numbers of its own; its name is the next there was.
    const { seq: first_seq } = this.first ?? { seq: number }
    return {
      segment,
      bytes,
      sha256,
      first_seq,
      last_seq: this.first === undefined ? number - 1 : this.lastSeq,
    }
  }

  push(chunk: Uint8Array): void {
    this.bytes += chunk.length
    this.#hash.update(chunk)
    this.#reader.push(chunk)
  }

  /** The run that the lines end inside of, if they do. */
  get openRun(): AbandonedRun | undefined {
    return describeRun(this.#reader.open)
  }

  /** No more lines will come: a run that is still open has no effect, now or ever. */
  finish(): void {
    this.#reader.finish()
  }

  #valid(line: SegmentLine): true {
    const { record } = line
    this.first ??= record
    if (record.seq > this.lastSeq) this.lastSeq = record.seq
    this.#listener.valid?.(line)
    return true
  }

  #malformed({ offset, length, bytes }: MalformedLine): void {
    const range = { from: offset, to: offset + length }
    const sha256 = bytes === undefined ? undefined : sha256Hex(bytes)
    this.#listener.torn?.({ ...range, sha256, hasZeros: bytes?.includes(0) === true })
  }

  #drop(lines: readonly SegmentLine[]): void {
    this.#listener.dropped?.(lines)
    const run = describeRun(lines)
    if (run !== undefined) this.#listener.abandoned?.(run)
    for (const { record } of lines.slice(run?.records ?? 0)) {
      const { seq, tx } = record
      if (tx === undefined || tx === 'malformed') continue
      const { id, n } = tx
      this.#listener.abandoned?.({ began: false, tx_id: id, first_seq: seq, last_seq: seq, records: 1, n })
    }
  }
}

/** The run at the start of dropped records, if they began as one; a stray record behind it is no part of it. */
function describeRun(records: readonly Pick<SegmentLine, 'record'>[]): AbandonedRun | undefined {
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

/** Adds a run to those found so far in one segment; the records of a run without its beginning are named together. */
export function addRun(runs: AbandonedRun[], run: AbandonedRun): void {
  const last = runs.at(-1)
  if (run.began || last === undefined || last.began || last.tx_id !== run.tx_id) runs.push(run)
  else runs[runs.length - 1] = { ...last, last_seq: run.last_seq, records: last.records + run.records }
}

/** Reads a whole segment that has a successor. */
export function scanSegment(store: Store, file: SegmentFile, listener: ScanListener): SegmentScan {
  const scan = new SegmentScan(listener)
  for (const chunk of segmentChunks(store, file)) scan.push(chunk)
  scan.finish()
  return scan
}

/** Reads a segment up to its first valid record. `isHurt` is true if a line that is no record is before that. */
export function readSegmentHead(
  store: Store,
  file: SegmentFile,
): { readonly first: ReadRecord | undefined; readonly isHurt: boolean } {
  let first: ReadRecord | undefined
  let isHurt = false
  const reader = new SegmentReader({
    valid({ record }) {
      first = record
      return false
    },
    malformed() {
      isHurt = true
    },
  })
  for (const chunk of segmentChunks(store, file)) if (!reader.push(chunk)) break
  return { first, isHurt }
}

/** The project that a record states. */
export function projectOf(record: ReadRecord): string | undefined {
  const id = isJsonObject(record.payload) ? record.payload['project_id'] : undefined
  return typeof id === 'string' ? id : undefined
}

import {
  Continuity,
  classifyTail,
  type JsonObject,
  limits,
  type ReadRecord,
  repairedBy,
  type SegmentLine,
  segmentName,
  type TailAction,
  type TailFeatures,
} from '@kim/manifest'
import type { ActiveSegment } from './append.js'
import type { Draft } from './draft.js'
import type { JournalState } from './journal-state.js'
import { cutChunks } from './listing.js'
import { isLossPin } from './lost-mail.js'
import { abandonedNote, seqRepair, tornNote } from './notes.js'
import {
  type AbandonedRun,
  addRun,
  type ScanListener,
  type ScannedRange,
  SegmentScan,
} from './segment-scan.js'
import type { Store } from './store.js'

/** What a recovery reports of the records that it finds, notes included, in file order. */
export interface RecoveryListener {
  effective?(record: ReadRecord): void
  /** A line with this number, whether or not it has an effect. */
  number?(seq: number): void
}

/**
 * Carries out table T of `spec/recovery.md` on the newest segment, and knows what the journal owes for its end. An open
 * does this once. A running writer does it after a write that failed, because then it knows as little as an open does.
 *
 * It may be asked again and again: a disk that stays full only means that the rest is still owed.
 */
export class Recovery {
  readonly #store: Store
  readonly #state: JournalState
  readonly #segment: ActiveSegment
  readonly #listener: RecoveryListener
  readonly #scan: SegmentScan
  /** The lines that this recovery ended and that have not been judged yet: first byte to `\n`. */
  readonly #ended: Map<number, number> = new Map()
  /** The seqs of the records that were found and had an effect on the state or its readers, in file order. */
  readonly adopted: number[] = []
  #numbers: Continuity
  #malformed: ScannedRange[] = []
  #runs: AbandonedRun[] = []
  /** True if the segment has no record, so that its first one is still to be written. */
  begins = false
  /** The commit that the newest effective record came with, and where that record ends. */
  #commit: string | undefined
  #effectiveEnd = 0
  /** The commit that the newest record without an effect came with. */
  #droppedWith: string | undefined

  /**
   * It begins after what is known of the segment: an open knows nothing yet, a running writer what it wrote. `after` is
   * the highest seq before that.
   */
  constructor(
    store: Store,
    state: JournalState,
    segment: ActiveSegment,
    after: number,
    listener: RecoveryListener = {},
  ) {
    this.#store = store
    this.#state = state
    this.#segment = segment
    this.#listener = listener
    this.#numbers = new Continuity(after)
    const listen: ScanListener = {
      valid: ({ record, offset }) => {
        this.#ended.delete(offset)
        segment.see(record.seq)
        listener.number?.(record.seq)
      },
      released: line => this.#effective(line),
      dropped: lines => {
        state.dropped(lines)
        for (const { record } of lines) {
          this.#numbers.see(record.seq)
          this.#droppedWith = commitOf(record)
        }
      },
      abandoned: run => this.#oweRun(run),
      future: seq => {
        if (seq === undefined) return
        segment.pass(seq)
        this.#numbers.see(seq)
        listener.number?.(seq)
      },
      torn: range => {
        this.#ended.delete(range.from)
        this.#malformed.push(range)
      },
    }
    this.#scan = new SegmentScan(listen, segment.length, segment.hash)
  }

  /** The first valid record of the segment, if the whole file was read. */
  get first(): ReadRecord | undefined {
    return this.#scan.first
  }

  /** Every caller knows of what was adopted so far. */
  markReported(): void {
    this.adopted.length = 0
  }

  /** Takes over the bytes up to the end of the file. Call it only once they are durable. */
  read(): void {
    const { disk } = this.#store
    for (const chunk of disk.fileChunks(this.#segment.path, this.#scan.bytes)) this.#scan.push(chunk)
    this.#segment.length = this.#scan.bytes
    // A line that turned out blank or of a later version is no record either, and this recovery ended it.
    for (const [from, to] of this.#ended) {
      this.#malformed.push({ from, to, sha256: undefined, hasZeros: false })
    }
    this.#ended.clear()
  }

  /** Finds the row of table T that applies to the file as it is, and does what it says. The bytes must be durable. */
  judge(): void {
    this.read()
    this.begins = false
    for (const action of classifyTail(this.#tail).actions) this.#carryOut(action)
  }

  get #tail(): TailFeatures {
    const { openRun, fragment } = this.#scan
    if (openRun !== undefined) return { lines: 'open_run', fragment }
    return { lines: this.#segment.lastSeq === 0 ? 'barren' : 'records', fragment }
  }

  #carryOut(action: TailAction): void {
    switch (action) {
      case 'end_line':
        this.#segment.write(new Uint8Array([0x0a]))
        this.#ended.set(this.#scan.fragmentAt, this.#scan.bytes)
        this.#segment.sync()
        return
      case 'adopt':
        this.judge()
        return
      case 'adjudicate':
        this.read()
        return
      case 'abandon':
        if (this.#scan.openRun !== undefined) this.#oweRun(this.#scan.openRun)
        return
      case 'begin':
        this.begins = true
    }
  }

  /** Numbers below this one were given out, and the disk lost their records. */
  skipTo(nextSeq: number): void {
    // The numbers of a run that the file ends in are not lost, although they do not count yet.
    const run = this.#scan.openRun
    if (run !== undefined) for (let seq = run.first_seq; seq <= run.last_seq; seq++) this.#numbers.see(seq)
    this.#numbers.see(nextSeq)
  }

  /** The notes that the journal owes for its end, in the order of RC-5. */
  owed(): Draft[] {
    const segment = segmentName(this.#segment.number)
    const repairs = this.#numbers.openHoles().map(({ from, to }) => seqRepair(from, to, 'lost'))
    const torn = this.#malformed
      .toSorted((a, b) => a.from - b.from)
      .map(range => {
        const { from, to } = range
        const bytes = (): Iterable<Buffer> =>
          cutChunks(this.#store.disk.fileChunks(this.#segment.path, from), to - from)
        return tornNote(segment, range, bytes)
      })
    return [...repairs, ...torn, ...this.#runs.map(run => abandonedNote(segment, run))]
  }

  /** A run that is owed as one that the file ends in is found once more when a line closes it. */
  #oweRun(run: AbandonedRun): void {
    const isOwed = this.#runs.some(
      ({ began, tx_id, first_seq }) => began && tx_id === run.tx_id && first_seq === run.first_seq,
    )
    if (!isOwed) addRun(this.#runs, run)
  }

  #effective(line: SegmentLine): void {
    const { record, offset, length } = line
    this.#numbers.see(record.seq)
    this.#state.released(line, this.#segment.path)
    if (line.effect === 'meta') this.#paid(record)
    else {
      // A pin for lost mail is appended before the notes for what was lost: they are still owed behind it.
      if (!isLossPin(record)) this.#goOn(record, offset + length)
      this.adopted.push(record.seq)
    }
    this.#listener.effective?.(record)
  }

  /**
   * The journal went on after what was there before: the notes for that were written, or never will be. But the
   * last commit may have reached the disk without one of its pages, and then it goes on after the hole as well.
   */
  #goOn(record: ReadRecord, end: number): void {
    const commit = commitOf(record)
    if (commit !== this.#commit && commit !== this.#droppedWith) this.#runs = []
    if (this.#malformed.length > 0) {
      const zone = commit === this.#commit ? 0 : this.#effectiveEnd
      const from = Math.max(zone, end - limits.commitBytesMax)
      this.#malformed = this.#malformed.filter(range => range.hasZeros && range.from >= from)
    }
    if (this.#malformed.length === 0) {
      this.#runs = []
      this.#numbers = new Continuity(this.#numbers.highest)
    }
    this.#commit = commit
    this.#effectiveEnd = end
  }

  /** A note that is in the journal is not owed any more. */
  #paid(record: ReadRecord): void {
    const repaired = repairedBy(record)
    if (repaired !== undefined) this.#numbers.repair(repaired)
    const { kind, segment, from, to, tx_id, first_seq }: JsonObject = record.payload ?? {}
    if (kind === 'torn_tail_adjudicated' && segment === segmentName(this.#segment.number))
      this.#malformed = this.#malformed.filter(range => range.from !== from || range.to !== to)
    if (kind === 'tx_abandoned')
      this.#runs = this.#runs.filter(run => run.tx_id !== tx_id || run.first_seq !== first_seq)
  }
}

/** What all records of one commit have in common, and as good as never two commits: one instant of one writer. */
function commitOf({ clock, ts, writer }: ReadRecord): string {
  return `${writer} ${ts} ${clock?.mono_ms}`
}

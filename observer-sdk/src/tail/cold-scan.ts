/** What a cold start takes from the segments it reads, in file order: state, activity, head and counts. */
import { Buffer } from 'node:buffer'
import {
  type AnomalyKind,
  type CheckpointHeader,
  entersActivity,
  Fold,
  type Head,
  type LineFrame,
  limits,
  type ReadRecord,
  recordOf,
  type SegmentLine,
  type SegmentListener,
} from '@kim/manifest'
import { type FoldedLines, type Image, StoredLines } from './stored-image.js'

/** The listener of a cold start. */
export class ColdScan implements SegmentListener, FoldedLines {
  readonly fold: Fold<Image>
  readonly lines: StoredLines = new StoredLines()
  readonly activity: ActivityTail = new ActivityTail()
  readonly counts: Map<AnomalyKind, number> = new Map()
  head: Head | undefined
  /** Whether a redaction is noted that no checkpoint has ended yet. */
  redactionPending = false
  /** Set where a line is not what its frame promised: this scan is void. */
  isFlawed = false
  /** Set where the line that ends the checkpoint is there once more: this scan is void. */
  isHeadRepeated = false
  /** The header of the checkpoint that the scan goes on from. */
  readonly #base: CheckpointHeader | undefined
  /** Set while the lines that are read are covered by the checkpoint. */
  #isCovered = false
  /** Where the covered lines end, if that is known: behind the line at this offset. */
  #coveredTo: number | undefined
  /** The last unparsed line that could be the head, to be parsed before it is. */
  #top: { readonly from: number; readonly to: number; readonly seq: number } | undefined

  constructor(base: CheckpointHeader | undefined) {
    this.#base = base
    this.fold = new Fold<Image>(
      {
        of: ({ latin1 }) => latin1,
        framed: (frame, offset, before) => this.lines.addFrame(offset, frame, before),
      },
      { after: base?.head_seq ?? 0 },
    )
  }

  /**
   * Begins a segment. With `isCovered` its lines count only behind the one that ends the checkpoint: the one at
   * `coveredTo`, or else the first that is it.
   */
  begin(isCovered: boolean, coveredTo?: number): void {
    this.#isCovered = isCovered
    this.#coveredTo = coveredTo
  }

  framed(frame: LineFrame, offset: number): void {
    const { seq, from, to } = frame
    if (!this.#isCovered) {
      const effect = this.fold.framed(frame, offset)
      if (effect === undefined) {
        this.#count('malformed')
        return
      }
      if (effect === 'meta') this.#note(recordOf(frame.line))
      if (seq > (this.head?.seq ?? 0)) this.#top = { from, to, seq }
      if (frame.hasEvent || effect === 'activity') this.activity.line(from, to)
    }
    if (seq === this.#base?.head_seq) this.#end(seq, frame.text(frame.writerStart, frame.writerEnd), offset)
  }

  released(line: SegmentLine): void {
    const { record, effect, offset } = line
    if (!this.#isCovered) {
      for (const kind of line.defects) this.#count(kind)
      this.fold.released(line)
      if (effect === 'meta') this.#note(record)
      if (entersActivity(record)) this.activity.record(record)
      this.#see(record)
    }
    this.#end(record.seq, record.writer, offset)
  }

  dropped(lines: readonly SegmentLine[]): void {
    for (const { record, defects, offset } of lines) {
      if (!this.#isCovered) {
        for (const kind of defects) this.#count(kind)
        this.#count('tx_incomplete')
        this.fold.pass(record)
        this.#see(record)
      }
      this.#end(record.seq, record.writer, offset)
    }
  }

  repeated(): void {
    if (!this.#isCovered) this.#count('duplicate_line')
  }

  malformed(): void {
    if (!this.#isCovered) this.#count('malformed')
  }

  future(seq: number | undefined): void {
    if (this.#isCovered) return
    this.#count('future')
    if (seq !== undefined) this.fold.see(seq)
  }

  windowEnd(window: Buffer): void {
    const top = this.#top
    this.#top = undefined
    if (top !== undefined && top.seq >= (this.head?.seq ?? 0)) {
      const record = recordOf(window.subarray(top.from, top.to))
      if (record === undefined) this.isFlawed = true
      else this.head = { seq: top.seq, writer: record.writer ?? null }
    }
    this.activity.settle(window)
  }

  /** Whether a line with this seq and writer is one that the checkpoint ends with. */
  isHead(seq: number, writer: string | undefined): boolean {
    const base = this.#base
    return seq === base?.head_seq && (base.head_writer === null || writer === base.head_writer)
  }

  #count(kind: AnomalyKind): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1)
  }

  #note(record: ReadRecord | undefined): void {
    if (record === undefined) return
    if (isRedaction(record)) this.redactionPending = true
    if (record.action === 'checkpoint_ref') this.redactionPending = false
  }

  #see({ seq, writer }: ReadRecord): void {
    // Of several with the highest seq the last one counts.
    if (seq >= (this.#top?.seq ?? seq + 1)) this.#top = undefined
    if (seq >= (this.head?.seq ?? 0)) this.head = { seq, writer: writer ?? null }
  }

  /** A line that may be the one that ends the checkpoint: what comes before the last such line is covered by it. */
  #end(seq: number, writer: string | undefined, offset: number): void {
    if (!this.isHead(seq, writer)) return
    if (!this.#isCovered) this.isHeadRepeated = true
    else if (this.#coveredTo === undefined || offset >= this.#coveredTo) this.#isCovered = false
  }
}

const ACTIVITY_MAX = limits.activityRecordsMax

/** In place of the offset of an entry that is no longer in the window, or never was. */
const SETTLED = -1

/**
 * The newest activity of a cold start. Most lines leave the ring before their window ends, so their places are kept, and
 * nothing is copied before the window's memory is used again.
 */
class ActivityTail {
  /** Entry number `i` is at `i % ACTIVITY_MAX`. */
  readonly #from = new Int32Array(ACTIVITY_MAX)
  readonly #to = new Int32Array(ACTIVITY_MAX)
  readonly #entries: (ReadRecord | Buffer)[] = []
  #count = 0

  record(record: ReadRecord): void {
    const at = this.#count++ % ACTIVITY_MAX
    this.#from[at] = SETTLED
    this.#entries[at] = record
  }

  /** An unparsed line, by its place in the window. */
  line(from: number, to: number): void {
    const at = this.#count++ % ACTIVITY_MAX
    this.#from[at] = from
    this.#to[at] = to
  }

  /** The window's memory is about to be used again: what is still wanted of it is copied. */
  settle(window: Buffer): void {
    for (let i = Math.max(0, this.#count - ACTIVITY_MAX); i < this.#count; i++) {
      const at = i % ACTIVITY_MAX
      const from = this.#from[at] as number
      if (from === SETTLED) continue
      this.#entries[at] = Buffer.from(window.subarray(from, this.#to[at]))
      this.#from[at] = SETTLED
    }
  }

  /** The records, oldest first, unchangeable; a line that turns out to be none is left out. */
  records(): ReadRecord[] {
    const records: ReadRecord[] = []
    for (let i = Math.max(0, this.#count - ACTIVITY_MAX); i < this.#count; i++) {
      const entry = this.#entries[i % ACTIVITY_MAX]
      const record = Buffer.isBuffer(entry) ? recordOf(entry) : entry
      if (record !== undefined) records.push(record)
    }
    return records
  }
}

/** Whether a record notes a redaction, which rewrites old lines until the checkpoint that ends it (JF-76). */
export function isRedaction({ action, payload }: ReadRecord): boolean {
  return action === 'journal_note' && payload?.['kind'] === 'redaction'
}

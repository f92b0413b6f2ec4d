/** Where a cursor's hand-over begins, and what is missing before it: table U of the recovery page. */
import type { Buffer } from 'node:buffer'
import {
  type LineFrame,
  type ReadRecord,
  type RestartListener,
  recordOf,
  type SegmentLine,
  SegmentReader,
} from '@kim/manifest'
import type { Snapshot } from './cold-start.js'
import { type BytePosition, ORIGIN } from './journal-reader.js'
import type { SegmentSet } from './segment-set.js'

/** Records that a consumer should get and that are missing, or whose place in the journal is lost. */
export interface Gap {
  readonly from: number
  readonly to: number
  /**
   * `archived`: they are no longer available. `missing`: a segment between others is missing. `rewound`: the cursor was made on
   * another journal.
   */
  readonly reason: 'archived' | 'missing' | 'rewound'
}

/** Where hand-over begins. */
export interface Start {
  /** Where reading begins: at `since`, or before it at the first line of the transaction that this is in. */
  readonly position: BytePosition
  /** Only records at or after this offset of that segment are handed over. */
  readonly since: number
  readonly gap: Gap | undefined
  /** Only records above this seq are handed over, where their place could not be looked for. */
  readonly above?: number
}

/** What is known of a journal when a place in it is looked for. */
export type Ground = Pick<
  Snapshot,
  'checkpointSeq' | 'end' | 'failures' | 'head' | 'isEndHidden' | 'peaks' | 'projectId' | 'unreadable'
>

/** The part of a cursor that a place is found by. */
export interface CursorLike {
  readonly seq: number
  readonly writer: string | null
}

/**
 * What is known of a journal without deriving its state: its newest segment is read, and older ones only as long as
 * no seq as high as `seq` was found.
 */
export function* groundOf(history: SegmentSet, seq: number): Generator<void, Ground> {
  const search = new Search(history)
  let head: Ground['head'] = { seq: 0, writer: null }
  let end: BytePosition | undefined
  for (const { number } of history.segments.toReversed()) {
    const last = search.last(number)
    end ??= last?.after.position ?? { segment: number, offset: 0, peak: 0 }
    if (last !== undefined && last.after.position.peak > head.seq) {
      const highest = last.after.position.peak
      head = { seq: highest, writer: last.record.seq === highest ? (last.record.writer ?? null) : null }
    }
    if (head.seq > 0 && head.seq >= seq) break
    yield
  }
  const { isEndHidden, listing, statedId: projectId, unreadable } = history
  const { length: failures } = listing.failures
  // To find a checkpoint would cost a look at all of it.
  const known = { checkpointSeq: 0, failures, isEndHidden, peaks: new Map(), projectId, unreadable }
  return { ...known, head, end: end ?? ORIGIN }
}

/** Finds the start; yields between segments. */
export function* locate(
  history: SegmentSet,
  cursor: CursorLike,
  { head, end, peaks, isEndHidden }: Ground,
): Generator<void, Start> {
  const search = new Search(history)
  // The cursor's record may be in what cannot be read: once that can be read, the place is looked for again.
  if (cursor.seq > head.seq && isEndHidden) return { position: end, since: end.offset, gap: undefined }
  if (cursor.seq > head.seq || (yield* search.belongsToOthers(cursor)))
    return yield* search.rewound(cursor, head.seq)
  const holding = history.holding(cursor.seq) ?? 0
  let isEndRead = false
  for (const { number } of history.segments) {
    // Names are lower bounds, so earlier segments end below the cursor, unless a read one is known not to.
    if (number < holding && (peaks.get(number) ?? 0) <= cursor.seq) continue
    const above = search.first(number, { above: cursor.seq })
    if (above !== undefined)
      return { ...above.place, gap: search.before(cursor.seq, above.record.seq, number) }
    if (number === end.segment) isEndRead = search.isRead
    yield
  }
  if (isEndRead || cursor.seq >= head.seq) return { position: end, since: end.offset, gap: undefined }
  // What is above the cursor was there when the end was looked for, and its segment was away just now: a place behind the end of
  // that segment would pass over it once it is back.
  const position = { segment: end.segment, offset: 0, peak: 0 }
  return { position, since: 0, gap: undefined, above: cursor.seq }
}

/**
 * What is missing between two seqs that follow each other. Lines may lack a number by themselves; but where the segment of
 * the second begins above what should come next, by its name, a segment is missing.
 */
export function missingBetween(last: number, first: number, segment: number): Gap | undefined {
  const from = last + 1
  return segment > from && first > from ? { from, to: first - 1, reason: 'missing' } : undefined
}

/** A record's place, before it and after it. */
interface Found {
  readonly record: ReadRecord
  readonly place: Omit<Start, 'gap'>
  readonly after: Omit<Start, 'gap'>
}

class Search {
  /** Whether the segment that was looked through last could be read to its end. */
  isRead = false
  readonly #history: SegmentSet

  constructor(history: SegmentSet) {
    this.#history = history
  }

  /** The first record of a segment that answers a query. */
  first(segment: number, query: Query): Found | undefined {
    return this.#find(segment, 'first', query)
  }

  /** The last one. */
  last(segment: number, query: Query = {}): Found | undefined {
    return this.#find(segment, 'last', query)
  }

  /** Whether there are records with the cursor's seq and none of them is by its writer. */
  *belongsToOthers({ seq, writer }: CursorLike): Generator<void, boolean> {
    if (writer === null || seq === 0) return false
    const holding = this.#history.holding(seq)
    const usual = this.#history.segments.filter(({ number }) => number === holding)
    const others = this.#history.segments.filter(({ number }) => number !== holding)
    let any = false
    for (const { number } of [...usual, ...others]) {
      if (this.first(number, { seq, writer }) !== undefined) return false
      any ||= this.first(number, { seq }) !== undefined
      yield
    }
    return any
  }

  /** What is missing between a cursor and the first record above it. */
  before(last: number, first: number, segment: number): Gap | undefined {
    const gap = missingBetween(last, first, segment)
    return gap && segment === this.#history.first() ? { ...gap, reason: 'archived' } : gap
  }

  *rewound(cursor: CursorLike, head: number): Generator<void, Start> {
    const { writer } = cursor
    const last = writer === null ? undefined : yield* this.#last({ writer })
    const started = last === undefined ? yield* this.#last(PRODUCER_STARTED) : undefined
    const place = last?.after ?? started?.place ?? { position: ORIGIN, since: 0 }
    const next = yield* this.#firstFrom(place)
    const from = Math.min(next?.seq ?? head + 1, cursor.seq)
    return { ...place, gap: { from, to: cursor.seq, reason: 'rewound' } }
  }

  *#last(query: Query): Generator<void, Found | undefined> {
    for (const { number } of this.#history.segments.toReversed()) {
      const found = this.last(number, query)
      if (found !== undefined) return found
      yield
    }
    return undefined
  }

  *#firstFrom({ position, since }: Omit<Start, 'gap'>): Generator<void, ReadRecord | undefined> {
    for (const { number } of this.#history.segments) {
      if (number < position.segment) continue
      const found = this.first(number, { from: number === position.segment ? since : 0 })
      if (found !== undefined) return found.record
      yield
    }
    return undefined
  }

  #find(segment: number, which: 'first' | 'last', query: Query): Found | undefined {
    const finder = new RecordFinder(segment, which, query)
    const isWhole = this.#history.read(segment, content => {
      this.#history.scan(content, finder)
      if (finder.isFlawed) {
        finder.restart()
        this.#history.pass(content, new SegmentReader(finder))
      }
      return content.failure === undefined
    })
    this.isRead = isWhole === true
    return finder.found
  }
}

/** What a record must be to be found; a member that is absent asks for nothing. */
interface Query {
  readonly seq?: number
  readonly above?: number
  readonly writer?: string
  readonly action?: string
  /** `kind` in the payload. */
  readonly kind?: string
  /** Offset that the line stands at or after. */
  readonly from?: number
}

const PRODUCER_STARTED: Query = { action: 'journal_note', kind: 'producer_started' }

/** Finds one record of a segment. */
class RecordFinder implements RestartListener {
  found: Found | undefined
  /** Set if the last line that was found is not what its frame promised: the segment has to be parsed. */
  isFlawed = false
  readonly #segment: number
  readonly #first: boolean
  readonly #query: Query
  #peak = 0
  /** Where the transaction of the present line begins, or the line itself. */
  #run: BytePosition = ORIGIN
  /** The last line so far, which is parsed once no later one can be: most are not the last. */
  #candidate:
    | { readonly from: number; readonly to: number; readonly offset: number; readonly peak: number }
    | undefined

  constructor(segment: number, which: 'first' | 'last', query: Query) {
    this.#segment = segment
    this.#first = which === 'first'
    this.#query = query
  }

  framed(frame: LineFrame, offset: number): void {
    const { from, seq, to } = frame
    if (this.#mayBe(offset, seq) && this.#isFramed(frame)) {
      const line = { from, to, offset, peak: this.#peak }
      if (this.#first || this.#query.kind !== undefined) this.#parse(frame.line, line)
      else this.#candidate = line
    }
    this.#peak = Math.max(this.#peak, seq)
  }

  windowEnd(window: Buffer): void {
    const line = this.#candidate
    if (line !== undefined && !this.#parse(window.subarray(line.from, line.to), line)) this.isFlawed = true
    this.#candidate = undefined
  }

  released(line: SegmentLine): void {
    const { offset, record } = line
    const isInner = typeof record.tx === 'object' && record.tx.i > 1
    if (!isInner) this.#run = { segment: this.#segment, offset, peak: this.#peak }
    if (this.#mayBe(offset, record.seq)) this.#offer(line, this.#peak)
    this.#peak = Math.max(this.#peak, record.seq)
  }

  dropped(lines: readonly SegmentLine[]): void {
    for (const { record } of lines) this.#peak = Math.max(this.#peak, record.seq)
  }

  restart(): void {
    this.found = undefined
    this.isFlawed = false
    this.#candidate = undefined
    this.#peak = 0
  }

  #mayBe(offset: number, seq: number): boolean {
    if (this.#first && this.found !== undefined) return false
    const { from = 0, above = 0, seq: wanted = seq } = this.#query
    return offset >= from && seq > above && seq === wanted
  }

  /** Spares the parsing of lines whose frame says no. */
  #isFramed(frame: LineFrame): boolean {
    const { writer, action } = this.#query
    if (writer !== undefined && frame.text(frame.writerStart, frame.writerEnd) !== writer) return false
    return action === undefined || frame.text(frame.actionStart, frame.actionEnd) === action
  }

  /** False if the line holds no record. */
  #parse(bytes: Buffer, { from, offset, peak, to }: FramedLine): boolean {
    const record = recordOf(bytes)
    if (record === undefined) return false
    this.#run = { segment: this.#segment, offset, peak }
    this.#offer({ record, offset, length: to - from }, peak)
    return true
  }

  #offer({ record, offset, length }: Pick<SegmentLine, 'record' | 'offset' | 'length'>, peak: number): void {
    const { writer, action, kind } = this.#query
    if (writer !== undefined && record.writer !== writer) return
    if (action !== undefined && record.action !== action) return
    if (kind !== undefined && record.payload?.['kind'] !== kind) return
    const end = offset + length + 1
    const after = { segment: this.#segment, offset: end, peak: Math.max(peak, record.seq) }
    this.#candidate = undefined
    this.found = {
      record,
      place: { position: this.#run, since: offset },
      after: { position: after, since: end },
    }
  }
}

/** A line that was found by its frame: its place in the window, in the segment, and the highest seq before it. */
interface FramedLine {
  readonly from: number
  readonly to: number
  readonly offset: number
  readonly peak: number
}

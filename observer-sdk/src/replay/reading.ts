/** A forward reader that can begin at a checkpoint, stop anywhere, and tell what each record changed. */
import {
  decodeLine,
  type Effect,
  type Entity,
  effectOf,
  type FramedLine,
  isRegistryGenesis,
  lineMark,
  type PendingBytes,
  Projection,
  type ReadRecord,
  TxTracker,
} from '@kim/manifest'
import type { SegmentEntry } from '../store/listing.js'
import type { Failure } from '../store/outcome.js'
import { DuplicateLines } from '../verify/duplicate-lines.js'
import type { LinePlace, RecordEntry } from '../verify/entry.js'
import { Damage } from './damage.js'
import type { LineSink, Mark } from './line-walk.js'

/** A record that had its effect. */
export interface Applied {
  readonly record: ReadRecord
  readonly effect: Effect
  readonly place: LinePlace
  /** The image that it replaced or removed. */
  readonly before: Entity | undefined
  /** The stored line, without its `\n`. */
  readonly bytes: Uint8Array
}

/** A record on its way through the reading, with its line. */
interface Held extends RecordEntry {
  readonly bytes: Uint8Array
}

/** What somebody wants to know of a reading. */
export interface Listener {
  /** Whether a line that holds a record is beyond what is asked for; the reading then ends before it. */
  isBeyond?(record: ReadRecord, segment: number, offset: number): boolean
  /** The highest number that may lack from what is asked for where the reading ends; without it any may. */
  readonly reach?: number | undefined
  /** Whether the reading halts before a line that holds a record, to be led on from there. */
  halts?(record: ReadRecord, mark: Mark): boolean
  /** A record had its effect; the state holds it. */
  applied?(applied: Applied): void
  /** All that one line let have its effect has it: a state that a reader could see. False ends the reading. */
  settled?(last: Applied): boolean
  /** Something that must be awaited before the next line, if anything must. */
  pause?(): Promise<void> | undefined
}

/** What a reading begins with. */
export interface ReadingStart {
  /** The number before the first that is expected. */
  readonly after: number
  readonly entities?: Iterable<Entity>
  readonly registryAuthoritative?: boolean
}

/** The last record of what was read. */
export interface LastRecord {
  readonly seq: number
  readonly ts: string | undefined
  readonly writer: string | undefined
  readonly segment: string
  readonly offset: number
}

/** The state as of the last line taken. */
export class Reading implements LineSink {
  #projection = new Projection(() => true)
  #damage: Damage
  #registryAuthoritative = false
  #listener: Listener
  readonly #runs = new TxTracker<Held>()
  readonly #repeats = new DuplicateLines()
  #last: LastRecord | undefined
  #records = 0
  #pending: { readonly name: string; readonly bytes: PendingBytes } | undefined
  /** Set once the passage is over: segments that are still looked into for what explains its damage. */
  #segmentsLeft: number | undefined
  #isOver = false
  #isResumed = false
  /** The highest segment of which it was told, before it was led on, that it cannot be read. */
  #told = Number.POSITIVE_INFINITY
  #stoppedAt: Mark | undefined

  constructor(start: ReadingStart, listener: Listener = {}) {
    this.#takeState(start)
    this.#damage = new Damage(start.after)
    this.#listener = listener
  }

  /** The state, which is another object once it was taken from elsewhere. */
  get projection(): Projection {
    return this.#projection
  }

  /** What the passage lacks. */
  get damage(): Damage {
    return this.#damage
  }

  /** The first line that was beyond it; undefined where the journal ended first. */
  get stoppedAt(): Mark | undefined {
    return this.#stoppedAt
  }

  /** Makes it ready to be led on from where it stopped, as a passage of its own on the same state. */
  resume(listener: Listener): void {
    this.#damage = new Damage(this.#damage.highest)
    this.#told = this.#reach
    this.#listener = listener
    this.#isOver = false
    this.#segmentsLeft = undefined
    this.#isResumed = true
    this.#stoppedAt = undefined
  }

  /** Makes it ready to go on from where it halted, on the state that is given, if one is. */
  goOn(start: ReadingStart | undefined): void {
    this.#isResumed = true
    this.#stoppedAt = undefined
    if (start === undefined) return
    this.#projection = new Projection(() => true)
    this.#takeState(start)
  }

  /** The last record of the passage, with or without effect. */
  get last(): LastRecord | undefined {
    return this.#last
  }

  /** Records that had their effect. */
  get records(): number {
    return this.#records
  }

  get registryAuthoritative(): boolean {
    return this.#registryAuthoritative
  }

  beginSegment(): void {
    if (this.#isOver) return
    if (this.#isResumed) {
      // The same segment goes on.
      this.#isResumed = false
      return
    }
    // Nobody will ever end the last line of a segment that has a successor.
    if (this.#pending !== undefined) this.damage.tail(this.#pending.name, this.#pending.bytes)
    this.#pending = undefined
    this.#drop(this.#runs.interrupt())
    this.#repeats.beginSegment()
  }

  line(line: FramedLine, segment: SegmentEntry): boolean {
    const { name } = segment
    if (line.kind === 'too_long') {
      if (this.#isOver) return true
      this.#drop(this.#runs.interrupt())
      this.damage.malformed({
        segment: name,
        offset: line.offset,
        length: line.length,
        reason: 'too_long',
        bytes: undefined,
      })
      return true
    }
    const { bytes, offset, atFileStart } = line
    const decoded = decodeLine(bytes, atFileStart)
    if (decoded.kind === 'blank') return true
    const place = { segment: name, offset, length: bytes.length }
    if (decoded.kind === 'record') {
      const { record } = decoded
      const entry = {
        ...place,
        seq: record.seq,
        record,
        effect: effectOf(record),
        mark: lineMark(bytes),
        bytes,
      }
      if (!this.#isOver && this.#listener.halts?.(record, { segment: segment.number, offset }) === true) {
        this.#stoppedAt = { segment: segment.number, offset }
        return false
      }
      if (!this.#isOver && this.#listener.isBeyond?.(record, segment.number, offset) === true) {
        this.#isOver = true
        this.#stoppedAt = { segment: segment.number, offset }
        // A note about damage is written by the very next open.
        this.#segmentsLeft = 2
        this.damage.ends(this.#runs.pending, entry, this.#reach)
      }
      return this.#isOver ? this.#explain(entry) : this.#record(entry)
    }
    if (this.#isOver) return true
    this.#drop(this.#runs.interrupt())
    if (decoded.kind === 'future') this.damage.future(decoded.seq, place)
    else this.damage.malformed({ ...place, reason: decoded.reason, bytes })
    return true
  }

  pause(): Promise<void> | undefined {
    return this.#listener.pause?.()
  }

  endSegment({ name }: SegmentEntry, pending: PendingBytes, failure: Failure | undefined): void {
    if (this.#isOver) {
      if (this.#segmentsLeft !== undefined) this.#segmentsLeft -= 1
      return
    }
    this.#pending = { name, bytes: pending }
    if (failure !== undefined) this.damage.unreadable(name, failure.code)
  }

  unreadable({ name, number }: SegmentEntry, { code }: Failure): void {
    // Of a segment that goes on it was told, if the passage before reached it.
    if (this.#isResumed && number <= this.#told) return
    if (!this.#isOver && number <= this.#reach) this.damage.unreadable(name, code)
  }

  #takeState({ entities = [], registryAuthoritative = false }: ReadingStart): void {
    for (const entity of entities) this.#projection.load(entity)
    this.#registryAuthoritative = registryAuthoritative
  }

  get #reach(): number {
    return this.#listener.reach ?? Number.POSITIVE_INFINITY
  }

  #explain(entry: RecordEntry): boolean {
    this.damage.explain(entry)
    return this.damage.places > 0 && (this.#segmentsLeft ?? 0) > 0
  }

  #record(entry: Held): boolean {
    const { record, segment, offset } = entry
    this.#last = { seq: record.seq, ts: record.ts, writer: record.writer, segment, offset }
    if (record.tx === undefined && !this.#runs.isOpen) return this.#settle([entry])
    const { dropped, released } = this.#runs.record(record, entry)
    this.#drop(dropped)
    return this.#settle(released)
  }

  #settle(entries: readonly Held[]): boolean {
    let last: Applied | undefined
    for (const entry of entries) {
      const { record, effect, seq, mark } = entry
      this.damage.record(entry)
      if (this.#repeats.isRepeated(seq, mark)) continue
      const before = this.projection.apply(record, effect)
      if (effect === 'meta' && isRegistryGenesis(record)) this.#registryAuthoritative = true
      this.#records += 1
      last = { record, effect, place: entry, before, bytes: entry.bytes }
      this.#listener.applied?.(last)
    }
    return last === undefined || this.#listener.settled?.(last) !== false
  }

  #drop(entries: readonly RecordEntry[]): void {
    for (const entry of entries) this.damage.record(entry)
    this.damage.dropped(entries)
  }
}

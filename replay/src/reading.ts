/** A forward reader that can begin at a checkpoint, stop anywhere, and tell what each record changed. */
import {
  type Effect,
  type Entity,
  type EntityTable,
  Fold,
  type FoldStart,
  type ReadRecord,
  type SegmentLine,
  SegmentReader,
  type UnterminatedLine,
  upsertedEntity,
} from '@kim/manifest'
import type { ReadFailure, SegmentEntry } from '@kim/observer-sdk/history'
import { entryOf, type LinePlace, type RecordEntry } from '@kim/observer-sdk/verify'
import { Damage } from './damage.js'
import type { Mark, SegmentWalker } from './line-walk.js'

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
export interface ReadingStart extends FoldStart {
  readonly after: number
  readonly entities?: Iterable<Entity>
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
export class Reading implements SegmentWalker {
  #fold: Fold<Entity>
  #damage: Damage
  #listener: Listener
  #reader: SegmentReader | undefined
  /** The last record to which the present line gave effect. */
  #applied: Applied | undefined
  #last: LastRecord | undefined
  #records = 0
  #pending: { readonly name: string; readonly bytes: UnterminatedLine } | undefined
  /** Set once the passage is over: segments that are still looked into for what explains its damage. */
  #segmentsLeft: number | undefined
  #isOver = false
  /** The reader of what explains the damage of a passage that is over, if that is still wanted. */
  #explainer: SegmentReader | undefined
  /** The segment in which the next walk goes on with the reader of this one. */
  #resumesIn: number | undefined
  /** The highest segment of which it was told, before it was led on, that it cannot be read. */
  #told = Number.POSITIVE_INFINITY
  #stoppedAt: Mark | undefined

  constructor(start: ReadingStart, listener: Listener = {}) {
    this.#fold = foldFrom(start)
    this.#damage = new Damage(start.after)
    this.#listener = listener
  }

  /** The state, which is another object once it was taken from elsewhere. */
  get entities(): EntityTable<Entity> {
    return this.#fold.entities
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
    this.#resumesIn = this.#stoppedAt?.segment
    this.#stoppedAt = undefined
  }

  /** Makes it ready to go on from where it halted, on the state that is given, if one is. */
  goOn(start: ReadingStart | undefined): void {
    this.#resumesIn = this.#stoppedAt?.segment
    this.#stoppedAt = undefined
    if (start !== undefined) this.#fold = foldFrom(start)
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
    return this.#fold.registryAuthoritative
  }

  beginSegment({ name, number }: SegmentEntry, offset: number): SegmentReader {
    if (this.#isOver) return this.#explains(name, offset)
    const isResumed = this.#resumesIn === number
    this.#resumesIn = undefined
    if (isResumed && this.#reader !== undefined) {
      this.#reader.resume()
      return this.#reader
    }
    // The last line of a segment that has a successor will never be ended.
    if (this.#pending !== undefined) this.damage.tail(this.#pending.name, this.#pending.bytes)
    this.#pending = undefined
    this.#reader?.finish()
    this.#reader = this.#read(name, number, offset)
    return this.#reader
  }

  lineEnd(): boolean {
    const last = this.#applied
    this.#applied = undefined
    return last === undefined || this.#listener.settled?.(last) !== false
  }

  stopped(): SegmentReader | undefined {
    return this.#explainer
  }

  pause(): Promise<void> | undefined {
    return this.#listener.pause?.()
  }

  endSegment({ name }: SegmentEntry, failure: ReadFailure | undefined): void {
    if (this.#isOver) {
      if (this.#segmentsLeft !== undefined) this.#segmentsLeft -= 1
      return
    }
    if (this.#reader !== undefined) this.#pending = { name, bytes: this.#reader.unterminated }
    if (failure !== undefined) this.damage.unreadable(name, failure.code)
  }

  unreadable({ name, number }: SegmentEntry, { code }: ReadFailure): void {
    // Of a segment that goes on it was told, if the passage before reached it.
    if (this.#resumesIn !== undefined && number <= this.#told) return
    if (!this.#isOver && number <= this.#reach) this.damage.unreadable(name, code)
  }

  get #reach(): number {
    return this.#listener.reach ?? Number.POSITIVE_INFINITY
  }

  #read(name: string, segment: number, offset: number): SegmentReader {
    return new SegmentReader(
      {
        valid: line => this.#takes(line, name, segment),
        released: line => this.#apply(line, entryOf(name, line)),
        repeated: line => this.damage.record(entryOf(name, line)),
        dropped: lines => this.#drop(lines.map(line => entryOf(name, line))),
        malformed: line => this.damage.malformed({ segment: name, ...line }),
        future: (seq, { offset, length }) => this.damage.future(seq, { segment: name, offset, length }),
      },
      { offset },
    )
  }

  /** Whether the line of a record is part of the passage. */
  #takes(line: SegmentLine, name: string, segment: number): boolean {
    const { record, offset, length } = line
    if (this.#listener.halts?.(record, { segment, offset }) === true) {
      this.#stoppedAt = { segment, offset }
      this.#explainer = undefined
      return false
    }
    if (this.#listener.isBeyond?.(record, segment, offset) === true) {
      const entry = entryOf(name, line)
      this.#isOver = true
      this.#stoppedAt = { segment, offset }
      // A note about damage is written by the very next open.
      this.#segmentsLeft = 2
      const waiting = this.#reader?.open.map(each => entryOf(name, each)) ?? []
      this.damage.ends(waiting, entry, this.#reach)
      this.#explainer = this.#explain(entry) ? this.#explains(name, offset + length + 1) : undefined
      return false
    }
    this.#last = { seq: record.seq, ts: record.ts, writer: record.writer, segment: name, offset }
    return true
  }

  /** A reader behind the passage: only its notes count. */
  #explains(name: string, offset: number): SegmentReader {
    this.#explainer = undefined
    return new SegmentReader({ valid: line => this.#explain(entryOf(name, line)) }, { offset })
  }

  #explain(entry: RecordEntry): boolean {
    this.damage.explain(entry)
    return this.damage.places > 0 && (this.#segmentsLeft ?? 0) > 0
  }

  #apply({ record, effect, bytes }: SegmentLine, place: RecordEntry): void {
    this.damage.record(place)
    const before = this.#fold.apply(record, effect, () => upsertedEntity(record))
    this.#records += 1
    this.#applied = { record, effect, place, before, bytes }
    this.#listener.applied?.(this.#applied)
  }

  #drop(entries: readonly RecordEntry[]): void {
    for (const entry of entries) this.damage.record(entry)
    this.damage.dropped(entries)
  }
}

/** Nothing is kept of removed entities: a reading judges no revisions. */
function foldFrom({ entities = [], ...start }: ReadingStart): Fold<Entity> {
  const fold = new Fold<Entity>({ of: ({ record }) => upsertedEntity(record) }, start, {
    forgets: () => true,
  })
  for (const entity of entities) fold.load(entity.item_type, entity.item_id, entity, entity.entity_rev)
  return fold
}

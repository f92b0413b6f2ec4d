/** Reads a journal forward: from a checkpoint or its beginning, to any place, with the state that its records make. */
import {
  type Effect,
  type Entity,
  type EntityTable,
  Fold,
  type FoldStart,
  KimError,
  type LineFrame,
  type MalformedLine,
  nextTurn,
  type ReadRecord,
  readSegment,
  registryCapability,
  type SegmentLine,
  SegmentReader,
  safeText,
  type UnterminatedLine,
  upsertedEntity,
} from '@kim/manifest'
import { listEntries, noJournalAt, type ReadFailure, type SegmentEntry } from '@kim/observer-sdk/history'
import {
  type CheckpointDocument,
  checkpointEntities,
  type JournalCopy,
  type JournalPoint,
  openJournalCopy,
  type PassControl,
  RangeCheck,
  type RangeVerdict,
  type SegmentWalker,
} from '@kim/observer-sdk/verify'
import { isOfRedactedBundle, isPlaceholder } from './bundle/manifest.js'
import type { Payloads } from './payloads.js'

/** Opens a journal. Throws `no_store` if there is none, `not_permitted` if the directory cannot be listed. */
export function openCopy(eventsDir: string): JournalCopy {
  requireJournal(eventsDir)
  return openJournalCopy(eventsDir)
}

/** Throws `no_store` if there is no journal, `not_permitted` if there may be one and the directory cannot be listed. */
export function requireJournal(eventsDir: string): void {
  const missing = noJournalAt(eventsDir)
  if (missing !== undefined) throw missing
  const listed = listEntries(eventsDir)
  if (!listed.ok) throw new KimError('not_permitted', `cannot read ${safeText(eventsDir)} (${listed.code})`)
}

/** A verified checkpoint, and where the lines after what it covers begin. */
export interface Base {
  readonly document: CheckpointDocument
  readonly tail: JournalPoint
}

/** Which checkpoints are of use, in two steps, because the second one reads lines. */
export interface WantedBase {
  /** By the head of the checkpoint, and the number of the segment that should contain it. */
  readonly covers: (headSeq: number, home: number) => boolean
  readonly ends?: (tail: JournalPoint) => boolean
  /** Tries candidates from the oldest up; otherwise from the newest down. */
  readonly isOldest?: boolean
}

/** Of the candidates that are wanted, the first verified one. */
export async function nearestCheckpoint(
  history: JournalCopy,
  { covers, ends, isOldest }: WantedBase,
  signal: AbortSignal | undefined,
): Promise<Base | undefined> {
  const candidates = history.checkpoints.toSorted((a, b) =>
    isOldest === true ? a.headSeq - b.headSeq : b.headSeq - a.headSeq,
  )
  for (const candidate of candidates) {
    const { headSeq } = candidate
    const home = history.segmentOf(headSeq)?.number
    if (!covers(headSeq, home ?? 0)) continue
    await nextTurn(signal)
    const offset = home === undefined ? undefined : endOfLine(history, home, headSeq)
    const tail =
      home !== undefined && offset !== undefined
        ? { segment: home, offset }
        : { segment: (home ?? headSeq) + 1, offset: 0 }
    if (ends?.(tail) === false) continue
    const document = await history.checkpoint(candidate, signal)
    if (document !== undefined) return { document, tail }
  }
  return undefined
}

/** Where the last line with this seq ends in a segment. */
function endOfLine(history: JournalCopy, segment: number, wanted: number): number | undefined {
  return history.read(segment, content => {
    let end: number | undefined
    const take = (seq: number, at: number): true => {
      if (seq === wanted) end = at + 1
      return true
    }
    const listener = {
      framed: ({ seq, from, to }: LineFrame, at: number) => void take(seq, at + to - from),
      valid: ({ record, offset, length }: SegmentLine) => take(record.seq, offset + length),
      restart() {
        end = undefined
      },
    }
    readSegment(() => content.chunks(), listener, { isLazy: true })
    return end
  })
}

/** A record that had its effect. */
export interface Applied {
  readonly record: ReadRecord
  readonly effect: Effect
  /** File name of its segment, and where its line begins there. */
  readonly segment: string
  readonly offset: number
  /** The entity that it replaced or removed. */
  readonly before: Entity | undefined
  /** The stored line, without its `\n`. */
  readonly bytes: Uint8Array
}

/** What a caller wants to know of a reading. */
export interface ReadingListener {
  /** Whether a line that contains a record is beyond what is asked for; the reading then ends before it. */
  isBeyond?(record: ReadRecord, segment: number, offset: number): boolean
  /** The highest seq that may be missing where the reading ends; without it any may. */
  readonly reach?: number | undefined
  /** Whether to halt before a line that contains a record; the caller then goes on from there. */
  halts?(record: ReadRecord, point: JournalPoint): boolean
  /** A record had its effect; the state contains it. */
  applied?(applied: Applied): void
  /** All records to which one line gave effect have it: a state that a reader could see. False ends the reading. */
  settled?(last: Applied): boolean
  /** Something to await before the next line, if anything. */
  pause?(): Promise<void> | undefined
}

/** What a reading begins with. */
export interface ReadingStart extends FoldStart {
  readonly after: number
  readonly entities?: Iterable<Entity>
  /** The seq that the available records begin with, if older ones are missing and no checkpoint stands in for them. */
  readonly late?: number | undefined
  /** What the weight of findings depends on. */
  readonly origin: { readonly isForeign: () => boolean; readonly isRedacted: () => boolean }
}

/** How to read a journal from a checkpoint, or from its first record. */
export function startOf(history: JournalCopy, base?: Base): ReadingStart {
  const first = history.first?.number ?? 1
  const isRedacted = (): boolean => isOfRedactedBundle(history.eventsDir)
  const origin = { isForeign: () => history.isForeign, isRedacted }
  if (base === undefined) return { after: first - 1, late: first > 1 ? first : undefined, origin }
  const { header } = base.document
  return {
    after: header.head_seq,
    entities: checkpointEntities(base.document),
    registryAuthoritative: header.capabilities.includes(registryCapability),
    origin,
  }
}

/** Reads all that is available of a journal. */
export async function readWhole(
  history: JournalCopy,
  listener: ReadingListener,
  control: PassControl,
): Promise<Reading> {
  const reading = new Reading(startOf(history), listener)
  await history.walk(reading, control)
  return reading
}

/** Lines that may have been redacted are kept up to this number, until it is known if this is a redacted bundle. */
const UNJUDGED_MAX = 100_000

/** The state as of the last line taken. */
export class Reading implements SegmentWalker {
  readonly #origin: ReadingStart['origin']
  #fold: Fold<Entity>
  /** What the part lacks so far. */
  damage: RangeCheck
  #listener: ReadingListener
  #reader: SegmentReader | undefined
  /** The last record to which the present line gave effect. */
  #applied: Applied | undefined
  /** The last record of the part, with or without effect. */
  last: (Pick<ReadRecord, 'seq' | 'ts' | 'writer'> & Pick<Applied, 'segment' | 'offset'>) | undefined
  /** Records that had their effect. */
  records = 0
  /** Lines as a redaction puts them in place of others: damage, except in a redacted bundle. */
  #unjudged: { readonly segment: string; readonly line: MalformedLine }[] = []
  #redacted = 0
  #pending: { readonly name: string; readonly bytes: UnterminatedLine } | undefined
  /** Set when the part is over: segments in which to look further for notes that explain its damage. */
  #segmentsLeft: number | undefined
  #isOver = false
  /** The reader of such notes, while they are wanted. */
  #explainer: SegmentReader | undefined
  /** The segment in which the next walk goes on with the reader of this one. */
  #resumesIn: number | undefined
  /** The highest segment that may have been reported as unreadable before the reading was resumed. */
  #told = Number.POSITIVE_INFINITY
  /** The first line that was beyond the part; undefined if the journal ended first. */
  stoppedAt: JournalPoint | undefined

  constructor(start: ReadingStart, listener: ReadingListener = {}) {
    this.#origin = start.origin
    this.#fold = foldFrom(start)
    this.damage = new RangeCheck(start.after)
    if (start.late !== undefined) this.damage.startsAt(start.late)
    this.#listener = listener
  }

  /** The live entities. It is another table after `goOn` with a start. */
  get entities(): EntityTable<Entity> {
    return this.#fold.entities
  }

  get registryAuthoritative(): boolean {
    return this.#fold.registryAuthoritative
  }

  /** How many damaged places and holes there were so far, explained later or not. */
  get places(): number {
    return this.damage.places + this.redactedLines
  }

  /** How many lines are what a redaction puts in place of others. */
  get redactedLines(): number {
    return this.#redacted + this.#unjudged.length
  }

  /** Ends the part: all that it lacks, blobs that were needed included. */
  close(payloads?: Payloads): RangeVerdict {
    for (const { kind, seq, detail } of payloads?.faults ?? []) this.damage.lacksBlob(kind, seq, detail)
    if (this.#unjudged.length > 0 && !this.#origin.isRedacted())
      for (const { segment, line } of this.#unjudged) this.damage.malformed(segment, line)
    return this.damage.close(this.#origin.isForeign)
  }

  /** Begins another part where this one ended, on the same state. */
  resume(listener: ReadingListener): void {
    this.damage = new RangeCheck(this.damage.highest)
    this.#unjudged = []
    this.#redacted = 0
    this.#told = this.#reach
    this.#listener = listener
    this.#isOver = false
    this.#segmentsLeft = undefined
    this.goOn(undefined)
  }

  /** Prepares to go on from where it halted, with another state if one is given. */
  goOn(start: ReadingStart | undefined): void {
    this.#resumesIn = this.stoppedAt?.segment
    this.stoppedAt = undefined
    if (start !== undefined) this.#fold = foldFrom(start)
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
    // Of a resumed segment it was reported, if the part before reached it.
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
        released: line => this.#apply(line, name),
        repeated: line => this.damage.record(name, line),
        dropped: lines => this.damage.dropped(name, lines),
        malformed: line => this.#malformed(name, line),
        future: (seq, line) => this.damage.future(name, seq, line),
      },
      { offset },
    )
  }

  /** Whether the line of a record is in the part. */
  #takes(line: SegmentLine, name: string, segment: number): boolean {
    const { record, offset, length } = line
    if (this.#listener.halts?.(record, { segment, offset }) === true) {
      this.stoppedAt = { segment, offset }
      this.#explainer = undefined
      return false
    }
    if (this.#listener.isBeyond?.(record, segment, offset) === true) {
      this.#isOver = true
      this.stoppedAt = { segment, offset }
      // The next open of the journal writes a note about damage at once.
      this.#segmentsLeft = 2
      this.damage.ends(name, this.#reader?.open ?? [], line, this.#reach)
      this.#explainer = this.#explain(name, line) ? this.#explains(name, offset + length + 1) : undefined
      return false
    }
    const { seq, ts, writer } = record
    this.last = { seq, ts, writer, segment: name, offset }
    return true
  }

  /** A reader behind the part: only notes count there. */
  #explains(name: string, offset: number): SegmentReader {
    this.#explainer = undefined
    return new SegmentReader({ valid: line => this.#explain(name, line) }, { offset })
  }

  #explain(name: string, line: SegmentLine): boolean {
    this.damage.explain(name, line)
    return this.places > 0 && (this.#segmentsLeft ?? 0) > 0
  }

  #apply(line: SegmentLine, segment: string): void {
    const { record, effect, offset, bytes } = line
    this.damage.record(segment, line)
    const before = this.#fold.apply(record, effect, () => upsertedEntity(record))
    this.records += 1
    this.#applied = { record, effect, segment, offset, before, bytes }
    this.#listener.applied?.(this.#applied)
  }

  #malformed(segment: string, line: MalformedLine): void {
    const isRedacted = line.bytes !== undefined && isPlaceholder(line.bytes)
    if (isRedacted && this.#origin.isRedacted()) this.#redacted += 1
    else if (isRedacted && this.#unjudged.length < UNJUDGED_MAX) this.#unjudged.push({ segment, line })
    else this.damage.malformed(segment, line)
  }
}

/** Nothing is kept of removed entities: a reading judges no revisions. */
function foldFrom({ entities = [], ...start }: ReadingStart): Fold<Entity> {
  return foldOnto(entities, start, { forgets: () => true })
}

/** A fold that begins with these entities. */
export function foldOnto(
  entities: Iterable<Entity>,
  start: FoldStart,
  options: ConstructorParameters<typeof Fold>[2],
): Fold<Entity> {
  const fold = new Fold<Entity>({ of: ({ record }) => upsertedEntity(record) }, start, options)
  for (const entity of entities) fold.load(entity.item_type, entity.item_id, entity, entity.entity_rev)
  return fold
}

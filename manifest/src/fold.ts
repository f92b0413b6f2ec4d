/** The one reducer: what records make of a journal, whatever its user keeps as the image of an entity. */

import { type Effect, effectOf, isRegistryGenesis } from './classify.js'
import { EntityTable, type Revision } from './entity-table.js'
import { type AnomalyKind, anomalies } from './generated/anomalies.js'
import { isSeq } from './json.js'
import { ActionEffects, type LineFrame } from './line-frame.js'
import type { ReadRecord } from './record.js'
import { type Duplicate, DuplicateFinder } from './record-fate.js'
import { recordOf, type SegmentLine, type SegmentListener } from './segment-reader.js'

/** Consecutive numbers, both ends included. */
export interface SeqRange {
  readonly from: number
  readonly to: number
}

/** Ranges as they are merged: ascending, neither overlapping nor adjacent. */
function merged(ranges: readonly SeqRange[]): SeqRange[] {
  const result: { from: number; to: number }[] = []
  for (const { from, to } of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = result.at(-1)
    if (last !== undefined && from <= last.to + 1) last.to = Math.max(last.to, to)
    else result.push({ from, to })
  }
  return result
}

/** Follows the highest number seen and remembers the numbers that were skipped on the way. */
export class Continuity {
  #highest: number
  readonly #skipped: SeqRange[] = []
  readonly #repairs: SeqRange[] = []

  /** `after` is the number before the first that is expected. */
  constructor(after: number) {
    this.#highest = after
  }

  /** The highest number seen, or what it began after. */
  get highest(): number {
    return this.#highest
  }

  /** A line with this number. */
  see(seq: number): void {
    if (seq <= this.#highest) return
    if (seq > this.#highest + 1) this.#skipped.push({ from: this.#highest + 1, to: seq - 1 })
    this.#highest = seq
  }

  /** A repair that explains these numbers, wherever in the journal it is. */
  repair(range: SeqRange): void {
    this.#repairs.push(range)
  }

  /** The maximal runs of numbers skipped that repairs do not wholly cover, ascending. */
  openHoles(): SeqRange[] {
    const repairs = merged(this.#repairs)
    let next = 0
    return this.#skipped.filter(({ from, to }) => {
      while ((repairs[next]?.to ?? Infinity) < from) next++
      const repair = repairs[next]
      return repair === undefined || repair.from > from || repair.to < to
    })
  }
}

/** The numbers that a `seq_repair` explains. */
export function repairedBy({
  action,
  payload,
}: Pick<ReadRecord, 'action' | 'payload'>): SeqRange | undefined {
  if (action !== 'seq_repair' || payload === undefined) return undefined
  const { from, to } = payload
  return isSeq(from) && isSeq(to) && from <= to ? { from, to } : undefined
}

/** The highest seq among the valid records, and who wrote it. */
export interface Head {
  readonly seq: number
  readonly writer: string | null
}

/** How many of each anomaly. */
export type AnomalyCounts = Readonly<Record<AnomalyKind, number>>

/** What of a record decides what it does: one that was read, or one that was just written. */
export type FoldedRecord = Pick<
  ReadRecord,
  'seq' | 'action' | 'item_type' | 'item_id' | 'entity_rev' | 'writer' | 'event' | 'payload' | 'payload_ref'
>

/** Makes the images that a fold keeps. */
export interface ImageMaker<Image> {
  /** The image of the entity that a record upserts. `before` is the image that it replaces; it may be reused. */
  of(line: SegmentLine, before: Image | undefined): Image
  /** As `of`, for a line whose payload was not parsed. Only a fold that a lazy reader feeds needs it. */
  framed?(frame: LineFrame, offset: number, before: Image | undefined): Image
}

/** Where a fold begins, if not at the first record. */
export interface FoldStart {
  /** The number before the first that is expected; by default the head's. */
  readonly after?: number | undefined
  readonly head?: Head | undefined
  readonly registryAuthoritative?: boolean | undefined
}

/** Judges whether a record repeats the seq of an earlier one. It sees every record that has an effect, in order. */
export interface RepeatJudge {
  see(record: FoldedRecord, effect: Effect): Duplicate | undefined
}

/** What a fold reports while it runs, and what it does not keep. */
export interface FoldOptions {
  /** Called for each parsed record that has an effect, in file order, once the state holds it. */
  readonly onRecord?: ((record: FoldedRecord, effect: Effect) => void) | undefined
  /** True to count records that repeat the seq of an earlier one: about 24 bytes are kept for each record. */
  readonly countsDuplicates?: boolean | undefined
  /** True if nothing is kept of a removed entity of this type. By default everything known is kept. */
  readonly forgets?: ((itemType: string) => boolean) | undefined
  /** True if the table keeps a removed entity also where its revision is unknown. */
  readonly keepsUnknown?: boolean | undefined
}

/** Holds the state that records make: the listener of one segment reader after the other, in file order. */
export class Fold<Image> implements SegmentListener {
  readonly entities: EntityTable<Image> = new EntityTable()
  readonly #images: ImageMaker<Image>
  readonly #options: FoldOptions
  #duplicates: RepeatJudge | undefined
  readonly #actions = new ActionEffects()
  /** How many of each anomaly; those that were not met are not in it. */
  readonly #counts = new Map<AnomalyKind, number>()
  #continuity: Continuity
  #head: Head
  #registryAuthoritative: boolean

  constructor(images: ImageMaker<Image>, start: FoldStart = {}, options: FoldOptions = {}) {
    this.#images = images
    this.#options = options
    this.#duplicates = options.countsDuplicates === true ? new DuplicateFinder() : undefined
    this.#head = start.head ?? { seq: 0, writer: null }
    this.#continuity = new Continuity(start.after ?? this.#head.seq)
    this.#registryAuthoritative = start.registryAuthoritative ?? false
  }

  /** The highest seq among the valid records, and who wrote it. */
  get head(): Head {
    return this.#head
  }

  /** The highest seq of any line, or what the fold began after. */
  get highest(): number {
    return this.#continuity.highest
  }

  /** True once a registry genesis is in the journal. */
  get registryAuthoritative(): boolean {
    return this.#registryAuthoritative
  }

  /** The runs of numbers that no line holds and no repair explains, ascending. */
  get openHoles(): SeqRange[] {
    return this.#continuity.openHoles()
  }

  /** How many of each anomaly so far. */
  get anomalies(): AnomalyCounts {
    const holes = this.openHoles.length
    const timesOf = (kind: AnomalyKind): number =>
      (this.#counts.get(kind) ?? 0) + (kind === 'seq_hole' ? holes : 0)
    const kinds = Object.keys(anomalies) as AnomalyKind[]
    return Object.fromEntries(kinds.map(kind => [kind, timesOf(kind)])) as AnomalyCounts
  }

  /** The state of an entity as a checkpoint says it is. */
  load(itemType: string, itemId: string, image: Image, revision: number | undefined): void {
    this.entities.put(this.entities.take(itemType, itemId), image, revision)
  }

  /** The revision of a removed entity, as a checkpoint says it. */
  loadRevision([itemType, itemId, revision]: Revision): void {
    const slot = this.entities.take(itemType, itemId)
    // An entity that a checkpoint holds is live, whatever else it says of it.
    if (this.entities.imageAt(slot) === undefined) this.entities.remove(slot, revision)
  }

  /** Counts what only the caller can see. */
  count(kind: AnomalyKind, times = 1): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + times)
  }

  /** A record on an unparsed line. Returns its effect; undefined if the line had to be parsed and is no record. */
  framed(frame: LineFrame, offset: number): Effect | undefined {
    const effect = this.#actions.of(frame)
    // What a tombstone carries is never read again, so nothing later would show that its line is no record.
    if (effect === 'meta' || (effect === 'remove' && frame.hasPayload)) return this.#parsed(frame)
    this.#continuity.see(frame.seq)
    if (effect !== 'upsert' && effect !== 'remove') return effect
    const { entities } = this
    const slot = entities.takeKey(frame)
    const revision = frame.revision < 0 ? undefined : frame.revision
    if (effect === 'remove') this.#remove(slot, revision)
    else {
      const image = this.#images.framed?.(frame, offset, entities.imageAt(slot))
      if (image !== undefined) entities.put(slot, image, revision)
    }
    return effect
  }

  released(line: SegmentLine): void {
    const { record, effect, defects } = line
    for (const kind of defects) this.count(kind)
    this.apply(record, effect, before => this.#images.of(line, before))
  }

  dropped(lines: readonly SegmentLine[]): void {
    for (const { record, defects } of lines) {
      this.count('tx_incomplete')
      for (const kind of defects) this.count(kind)
      this.pass(record)
    }
  }

  repeated(): void {
    this.count('duplicate_line')
  }

  malformed(): void {
    this.count('malformed')
  }

  future(seq: number | undefined): void {
    this.count('future')
    if (seq !== undefined) this.see(seq)
  }

  /** A number on a line that is no record here. */
  see(seq: number): void {
    this.#continuity.see(seq)
  }

  /** A valid record, whatever its effect: it may be the head. */
  pass({ seq, writer }: Pick<FoldedRecord, 'seq' | 'writer'>): void {
    this.#continuity.see(seq)
    if (seq >= this.#head.seq) this.#head = { seq, writer: writer ?? null }
  }

  /**
   * Gives a record its effect. `image` makes the image of an entity that it upserts, from the one before. Returns the
   * image that it replaced or removed.
   */
  apply(
    record: FoldedRecord,
    effect: Effect,
    image: (before: Image | undefined) => Image,
  ): Image | undefined {
    const duplicate = this.#duplicates?.see(record, effect)
    if (duplicate !== undefined) this.count(duplicate)
    else if (record.seq <= this.#continuity.highest && this.#duplicates !== undefined)
      this.count('seq_regressed')
    this.pass(record)
    const before = this.#change(record, effect, image)
    const repaired = repairedBy(record)
    if (repaired !== undefined) this.#continuity.repair(repaired)
    if (effect === 'meta' && isRegistryGenesis(record)) this.#registryAuthoritative = true
    this.#options.onRecord?.(record, effect)
    return before
  }

  /** From now on records that repeat a seq are counted. */
  judgeRepeats(judge: RepeatJudge): void {
    this.#duplicates = judge
  }

  /** What was counted since the last call, holes apart. */
  takeCounts(): [AnomalyKind, number][] {
    if (this.#counts.size === 0) return []
    const counts = [...this.#counts]
    this.#counts.clear()
    return counts
  }

  /** What was read so far is known by its highest number alone: only what follows is counted. */
  beginLive(): void {
    this.#continuity = new Continuity(this.#continuity.highest)
    this.#counts.clear()
  }

  /** A framed line that changes no image, parsed; one that is no record is malformed. */
  #parsed(frame: LineFrame): Effect | undefined {
    const record = recordOf(frame.line)
    if (record === undefined) {
      this.malformed()
      return undefined
    }
    const effect = effectOf(record)
    this.apply(record, effect, before => before as Image)
    return effect
  }

  #change(
    { item_type, item_id, entity_rev }: FoldedRecord,
    effect: Effect,
    image: (before: Image | undefined) => Image,
  ): Image | undefined {
    if (item_id === undefined || (effect !== 'upsert' && effect !== 'remove')) return undefined
    const { entities } = this
    const slot = entities.take(item_type, item_id)
    const known = entities.revisionAt(slot)
    if (entity_rev !== undefined && known !== undefined && entity_rev > known + 1)
      this.count('entity_rev_jump')
    const before = entities.imageAt(slot)
    if (effect === 'upsert') entities.put(slot, image(before), entity_rev)
    else this.#remove(slot, entity_rev)
    return before
  }

  #remove(slot: number, revision: number | undefined): void {
    const { entities } = this
    entities.remove(slot, revision)
    const isKnown = this.#options.keepsUnknown === true || entities.revisionAt(slot) !== undefined
    if (!isKnown || this.#options.forgets?.(entities.typeAt(slot)) === true) entities.forget(slot)
  }
}

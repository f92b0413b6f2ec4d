/** Follows a journal and keeps its state level with it: derives it, reads on at every news, derives it again if the ground moved. */
import {
  type AnomalyKind,
  effectOf,
  entersActivity,
  type Head,
  isRegistryGenesis,
  limits,
  nextTurn,
  type ReadRecord,
  RingBuffer,
  runAtOnce,
} from '@kim/manifest'
import { BoardMaker, type BoardSeed } from '../project/board.js'
import { type Impact, ImpactSet, impactOf } from '../project/impact.js'
import { Roster } from '../project/persona.js'
import { RecentRecords, State } from '../project/state.js'
import { failedCloses } from '../store/read-only-fs.js'
import { isRedaction } from '../tail/cold-scan.js'
import type { Snapshot } from '../tail/cold-start.js'
import type { Tip } from '../tail/directory.js'
import { type Batch, isBefore, isSamePlace, type JournalReader, nothingAt } from '../tail/journal-reader.js'
import type { CursorLike, Start } from '../tail/locate.js'
import type { RecordSource } from '../tail/record-source.js'
import type { Flaw } from '../tail/stored-image.js'
import { type FollowerHost, inSlices, JournalFollower, type Loss, PART_BYTES } from './journal-follower.js'

type Idle = Batch['idle'][number]

/** Most batches that are handed over before the state shows the first one. */
const PENDING_MAX = 16

/** What the state is kept with. */
export interface StateOptions {
  readonly seed: BoardSeed | undefined
  readonly activityMax: number | undefined
  readonly now: () => number
}

/** The state of one observer and everything counted on the way. */
export class StateFollower extends JournalFollower {
  /** State changed: by records that were applied, or because it was derived again. */
  onChange: (impact: Impact, by: 'records' | 'derivation') => void = () => undefined
  readonly #counts = new Map<AnomalyKind, number>()
  readonly #options: StateOptions
  #snapshot!: Snapshot
  #state!: State
  #roster!: Roster
  #board!: BoardMaker
  /** Made when it is first asked for, or added to. */
  #activity: RingBuffer<ReadRecord> | undefined
  #reader!: JournalReader
  #head!: Head
  #registryAuthoritative = false
  /** Holes of journals followed before the present one. */
  #holesBefore = 0
  /** What was read last: a consumer at its beginning need not read it again. */
  #latest: Batch | undefined
  /** What was read and the state does not show yet, because a consumer that waits is handed it first. */
  #pending: Batch[] = []
  #settling: NodeJS.Immediate | undefined
  #isRedacting = false
  #flaws: readonly Flaw[] = []
  /** How many lines of the base's part are known to be no records. */
  #malformed = 0
  readonly #closesBefore = failedCloses()

  constructor(source: RecordSource, host: FollowerHost, options: StateOptions) {
    super(source, host)
    this.#options = options
  }

  override close(): void {
    this.#settle()
    super.close()
  }

  override get head(): Head {
    return this.#head
  }

  override get checkpointSeq(): number {
    return this.#snapshot.checkpointSeq
  }

  override get reasons(): string[] {
    this.#settle()
    return this.#snapshot.historyGone ? [...super.reasons, 'history'].sort() : super.reasons
  }

  get state(): State {
    this.#settle()
    return this.#state
  }

  get roster(): Roster {
    this.#settle()
    return this.#roster
  }

  get board(): ReturnType<BoardMaker['board']> {
    this.#settle()
    return this.#board.board(this.#registryAuthoritative)
  }

  /** The newest activity, oldest first. */
  get activity(): readonly ReadRecord[] {
    this.#settle()
    this.#activity ??= this.#firstActivity()
    return this.#activity.toArray()
  }

  /** Every anomaly counted so far. */
  get anomalies(): Partial<Record<AnomalyKind, number>> {
    this.#settle()
    const counts = new Map(this.#counts)
    const holes = this.#holesBefore + this.#state.fold.openHoles.length
    if (holes > 0) counts.set('seq_hole', (counts.get('seq_hole') ?? 0) + holes)
    counts.set('close_failed', failedCloses() - this.#closesBefore)
    return Object.fromEntries([...counts].filter(([, times]) => times > 0))
  }

  /** The state was derived from all there is, so its head is the highest of all. */
  override locate(cursor: CursorLike): Generator<void, Start> {
    return this.source.locate(cursor, this.#snapshot)
  }

  /** A consumer is handed nothing that the state has not read: what the state reads next is waited for. */
  override read(reader: JournalReader, isAwaited: boolean): Batch | undefined {
    const { position } = reader
    if (isSamePlace(position, this.#reader.position))
      return this.isBusy ? undefined : nothingAt(position, this.#head)
    const latest = this.#latest
    if (latest !== undefined && latest.lost === undefined && isSamePlace(latest.from, position)) {
      reader.seek(latest.to)
      return this.#withHead(latest)
    }
    const batch = this.readFor(reader, isAwaited)
    this.guard(() => this.#reach(batch))
    if (!this.isMoving) return this.#withHead(batch)
    reader.seek(batch.from)
    return undefined
  }

  protected override takeIn(tip: Tip | undefined): void {
    const { isNews, more } = this.#read(tip)
    // What is no news here may be what a consumer behind the state waits for.
    const isAwaited = this.news.raise()
    const mayWait = isNews && isAwaited && this.#pending.length < PENDING_MAX
    if (!mayWait || this.isMoving) this.#catchUp()
    else if (more) this.#keepPending()
    else this.#settleSoon()
    if (this.isMoving || more) void this.continue()
  }

  protected override async look(loss: Loss | undefined): Promise<void> {
    const isFirst = loss === undefined
    const had = this.exists
    const impact = new ImpactSet()
    if (!isFirst) {
      this.#catchUp()
      this.#addAll(impact)
    }
    const snapshot = await inSlices(this.source.derive(), () => this.isClosed)
    if (snapshot === undefined) return
    if (!isFirst && loss !== 'first_lines') this.#holesBefore += this.#state.fold.openHoles.length
    this.#adopt(snapshot)
    // What was counted before in the same store is not counted again.
    if (isFirst || loss === 'store_replaced')
      for (const [kind, times] of snapshot.counts) this.#tally(kind, times)
    if (isFirst) return
    if (loss === 'segment_replaced' || loss === 'segment_shrunk' || loss === 'segment_grown')
      this.#tally(loss, 1)
    if (loss === 'store_replaced' && had && this.exists) this.#tally(loss, 1)
    this.#addAll(impact)
    this.onChange(impact.toImpact(), 'derivation')
  }

  protected override cannotRead(times: number): void {
    super.cannotRead(times)
    this.#tally('unreadable', times)
  }

  #adopt(snapshot: Snapshot): void {
    this.stand(snapshot)
    this.#snapshot = snapshot
    this.#head = snapshot.head
    this.#registryAuthoritative = snapshot.registryAuthoritative
    this.#latest = undefined
    this.#isRedacting = snapshot.redactionPending
    this.#flaws = []
    this.#malformed = snapshot.counts.get('malformed') ?? 0
    this.#state = new State(snapshot, {
      blob: ref => this.source.blob(ref),
      onBlob: kind => this.#tally(kind, 1),
      onFlaws: flaws => this.#rebase(flaws),
    })
    this.#roster = new Roster(this.#state, this.#options.now)
    this.#board = new BoardMaker(this.#state, this.#options.seed)
    snapshot.fold.judgeRepeats(new RecentRecords())
    this.#activity = undefined
    this.#reader = this.source.reader(snapshot.end)
  }

  #read(tip?: Tip): { readonly isNews: boolean; readonly more: boolean } {
    const batch = this.#reader.read(PART_BYTES, tip)
    const { passed } = batch
    if (passed !== undefined && passed.seq >= this.#head.seq) this.#head = passed
    if (batch.lost !== undefined) this.lose(batch.lost)
    if (this.isFirst(batch)) this.lose('first_lines')
    this.#latest = batch
    const isNews = batch.entries.length > 0 || passed !== undefined || batch.counts.size > 0
    if (isNews) this.#pending.push(batch)
    return { isNews, more: batch.more }
  }

  /** Reads on until the state has come to the end of what a consumer read. */
  #reach({ to }: Batch): void {
    let more = false
    while (!this.isMoving && isBefore(this.#reader.position, to)) {
      more = this.#read().more
      this.#catchUp()
      if (!more) break
    }
    if (this.isMoving || more) void this.continue()
  }

  /** Where the state ends too, the newest record is the newest of all. */
  #withHead(batch: Batch): Batch {
    const isKnown = batch.passed === this.#head || !isSamePlace(batch.to, this.#reader.position)
    return isKnown ? batch : { ...batch, passed: this.#head }
  }

  /** Has the state show all that was read, before it is looked at. */
  #settle(): void {
    if (this.#pending.length === 0) return
    this.guard(() => this.#catchUp())
    if (this.isMoving) void this.continue()
  }

  /** In the turn after the next: what a burst brings meanwhile is handed over before as well. */
  #settleSoon(): void {
    this.#settling ??= setImmediate(() => {
      this.#settling = setImmediate(() => this.#settle())
    })
  }

  /** Not yet: what belongs to it is about to be read. */
  #keepPending(): void {
    clearImmediate(this.#settling)
    this.#settling = undefined
  }

  #catchUp(): void {
    this.#keepPending()
    const batches = this.#pending
    this.#pending = []
    for (const batch of batches) this.#apply(batch)
  }

  #apply(batch: Batch): void {
    for (const [kind, times] of batch.counts) {
      if (kind === 'unreadable') this.cannotRead(times)
      else this.#tally(kind, times)
      if (kind === 'malformed') this.#malformed += times
    }
    let idle = 0
    batch.entries.forEach((line, at) => {
      const { record } = line
      const { fold } = this.#state
      for (; (batch.idle[idle]?.before ?? Infinity) <= at; idle++) fold.see((batch.idle[idle] as Idle).seq)
      const effect = effectOf(record)
      this.#state.apply(record, effect, line)
      if (effect === 'meta') this.#note(record)
      else this.#roster.see(record)
      if (!entersActivity(record)) return
      this.#activity ??= this.#firstActivity()
      this.#activity.push(record)
    })
    for (const { seq } of batch.idle.slice(idle)) this.#state.fold.see(seq)
    for (const [kind, times] of this.#state.fold.takeCounts()) this.#tally(kind, times)
    const changed = impactOf(batch.entries)
    this.#board.touch(changed.itemTypes)
    this.onChange(changed, 'records')
  }

  #firstActivity(): RingBuffer<ReadRecord> {
    const ring = new RingBuffer<ReadRecord>(this.#options.activityMax ?? limits.activityRecordsMax)
    for (const record of this.#snapshot.activity()) ring.push(record)
    return ring
  }

  #note(record: ReadRecord): void {
    if (isRegistryGenesis(record)) this.#registryAuthoritative = true
    // A redaction rewrites old lines, archived ones too, where no watch looks; its last act is a checkpoint.
    if (isRedaction(record)) this.#isRedacting = true
    if (record.action === 'checkpoint_ref' && this.#isRedacting) this.lose('redaction')
  }

  /** Lines were not what they seemed: the same place is derived without them. */
  #rebase(flaws: readonly Flaw[]): Snapshot {
    // What was read and is not applied yet is part of the place that is derived.
    this.#catchUp()
    this.#flaws = [...this.#flaws, ...flaws]
    const until = this.#reader.position
    this.#holesBefore += this.#state.fold.openHoles.length
    const snapshot = runAtOnce(this.source.derive({ flaws: this.#flaws, until }))
    const { counts, fold } = snapshot
    fold.judgeRepeats(new RecentRecords())
    for (const flaw of flaws) if ('checkpoint' in flaw) this.#tally('checkpoint_rejected', 1)
    // Every line of such a segment was parsed now: what was found before is not counted again.
    const malformed = counts.get('malformed') ?? 0
    this.#tally('malformed', Math.max(0, malformed - this.#malformed))
    this.#malformed = Math.max(malformed, this.#malformed)
    // Reported later: who reads an entity now must not be called back in the middle of it.
    const impact = new ImpactSet()
    this.#addAll(impact)
    void nextTurn().then(() => {
      if (!this.isClosed) this.onChange(impact.toImpact(), 'derivation')
    })
    return snapshot
  }

  /** Everything there is. */
  #addAll(impact: ImpactSet): void {
    for (const type of this.#state.counts.keys()) impact.addType(type)
    impact.addAll({ itemTypes: [], sections: [], personas: this.#roster.names(), attentionChanged: true })
  }

  #tally(kind: AnomalyKind, times: number): void {
    if (kind === 'future' && times > 0) this.sawFuture()
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + times)
  }
}

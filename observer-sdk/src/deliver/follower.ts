/** Keeps the state level with the source: derives it, reads on at every ring, derives anew when the ground moved. */
import {
  type AnomalyKind,
  effectOf,
  entersActivity,
  type Head,
  isRegistryGenesis,
  nextTurn,
  type ReadRecord,
  RingBuffer,
  runAtOnce,
} from '@kim/manifest'
import { BoardMaker } from '../project/board.js'
import { type Impact, ImpactSet, impactOf } from '../project/impact.js'
import { Roster } from '../project/persona.js'
import { RecentRecords } from '../project/recent-records.js'
import { State } from '../project/state.js'
import { failedCloses } from '../store/read-only-fs.js'
import { type BytePosition, isBefore, isSamePlace } from '../tail/byte-position.js'
import { isRedaction } from '../tail/redaction.js'
import type { Batch, News, RecordReader, RecordSource, Snapshot } from '../tail/source.js'
import type { Flaw } from '../tail/stored-image.js'
import type { FollowerOptions } from './follower-options.js'
import { Owed } from './owed.js'
import { PART_BYTES } from './part-bytes.js'
import { inSlices } from './slices.js'

type Idle = Batch['idle'][number]

/** The state of one observer and everything counted on the way. */
export class Follower {
  readonly source: RecordSource
  readonly counts: Map<AnomalyKind, number> = new Map()
  readonly #options: FollowerOptions
  #snapshot!: Snapshot
  #state!: State
  #roster!: Roster
  #board!: BoardMaker
  /** Made when it is first asked for, or added to. */
  #activity: RingBuffer<ReadRecord> | undefined
  #reader!: RecordReader
  #head!: Head
  #registryAuthoritative = false
  #exists = false
  #readable = true
  /** How much of the journal could not be read when it was derived, or since. */
  #unread = 0
  /** Files in an unreadable shape as of the last look. */
  #failures = 0
  /** Holes of journals followed before the present one. */
  #holesBefore = 0
  #epoch = 0
  #latest: Batch | undefined
  /** Whoever looks at the state has this shown first. */
  readonly #owed = new Owed(() => this.#settle())
  #redaction = false
  #flaws: readonly Flaw[] = []
  /** How many lines of the base's part are known to be no records. */
  #malformed = 0
  #lost: News['lost'] | Batch['lost'] | 'redaction'
  #busy = false
  #isDeriving = false
  #closed = false
  readonly #closesBefore = failedCloses()

  constructor(options: FollowerOptions) {
    this.#options = options
    this.source = options.source
  }

  /** Derives the state for the first time. */
  async open(): Promise<void> {
    await this.#derive(true)
    this.#busy = false
  }

  /** Nothing is read or told any more. */
  close(): void {
    this.#settle()
    this.#closed = true
  }

  get snapshot(): Snapshot {
    return this.#snapshot
  }

  get state(): State {
    this.#settle()
    return this.#state
  }

  get roster(): Roster {
    this.#settle()
    return this.#roster
  }

  get board(): BoardMaker {
    this.#settle()
    return this.#board
  }

  get head(): Head {
    return this.#head
  }

  /** The newest record that stands before the end of a batch: where the state stands too, the newest of all. */
  headAt({ passed, to }: Batch): Head | undefined {
    return isSamePlace(to, this.#reader.position) ? this.#head : passed
  }

  get registryAuthoritative(): boolean {
    this.#settle()
    return this.#registryAuthoritative
  }

  /** The newest activity, oldest first. */
  get activity(): readonly ReadRecord[] {
    this.#settle()
    this.#activity ??= this.#firstActivity()
    return this.#activity.toArray()
  }

  /** False if there is no journal. */
  get exists(): boolean {
    return this.#exists
  }

  /** Why the state is not all that it could be, sorted. */
  get reasons(): string[] {
    this.#settle()
    const reasons: string[] = []
    if (this.#count('future') > 0) reasons.push('future')
    if (this.#snapshot.historyGone) reasons.push('history')
    if (!this.#readable || this.#unread > 0) reasons.push('unreadable')
    return reasons
  }

  /** Every anomaly counted so far. */
  anomalies(): Partial<Record<AnomalyKind, number>> {
    this.#settle()
    const counts = new Map(this.counts)
    const holes = this.#holesBefore + this.#state.fold.openHoles.length
    if (holes > 0) counts.set('seq_hole', (counts.get('seq_hole') ?? 0) + holes)
    counts.set('close_failed', failedCloses() - this.#closesBefore)
    return Object.fromEntries([...counts].filter(([, times]) => times > 0))
  }

  /** Grows whenever places change their meaning, because everything was derived anew. */
  get epoch(): number {
    return this.#epoch
  }

  /** What was read last: who stands where it begins need not read it again. */
  get latest(): Batch | undefined {
    return this.#latest
  }

  /** Something may have changed. Reads what is at hand before it returns, unless it has to derive anew. */
  onNews(news: News): void {
    this.#guard(() => {
      this.#readable = news.readable || !news.exists
      if (news.failures > this.#failures) this.#cannotRead(news.failures - this.#failures)
      this.#failures = news.failures
      if (news.lost !== undefined) this.#lost ??= news.lost
      if (!this.#busy) this.#advance()
    })
  }

  /** A reader elsewhere found that what it had read is no longer what is there. */
  onLost(reason: NonNullable<Batch['lost']>): void {
    this.#lost ??= reason
    if (!this.#busy) this.#guard(() => this.#advance())
  }

  /** Everything is derived anew, or about to be: places mean nothing until the epoch has grown. */
  get isMoving(): boolean {
    return this.#isDeriving || this.#lost !== undefined
  }

  /** More is at hand, and will be read without anybody's asking. */
  get isReading(): boolean {
    return this.#busy
  }

  /** Whether nothing behind this place was read yet. */
  isLevelAt(position: BytePosition): boolean {
    return isSamePlace(this.#reader.position, position)
  }

  /** Reads on until the state has come to this place; false if everything is to be derived anew instead. */
  reach(to: BytePosition): boolean {
    this.#guard(() => {
      let more = false
      while (!this.isMoving && isBefore(this.#reader.position, to)) {
        more = this.#read().more
        this.#catchUp()
        if (!more) break
      }
      if (this.#lost !== undefined || more) void this.#continue()
    })
    return !this.isMoving
  }

  #advance(): void {
    if (this.#closed) return
    if (this.#lost !== undefined) {
      void this.#anew()
      return
    }
    const { isNews, more } = this.#read()
    // What is no news here may be what a consumer behind the state waits for.
    const isAwaited = this.#options.onBatch()
    const mayWait = isNews && isAwaited && !this.#owed.isFull
    if (!mayWait || this.#lost !== undefined) this.#catchUp()
    else if (more) this.#owed.wait()
    else this.#owed.settleSoon()
    if (this.#lost !== undefined || more) void this.#continue()
  }

  #read(): { readonly isNews: boolean; readonly more: boolean } {
    const batch = this.#reader.read(PART_BYTES)
    const { passed } = batch
    if (passed !== undefined && passed.seq >= this.#head.seq) this.#head = passed
    if (batch.lost !== undefined) this.#lost ??= batch.lost
    this.#latest = batch
    const isNews = batch.entries.length > 0 || passed !== undefined || batch.counts.size > 0
    if (isNews) this.#owed.add(batch)
    return { isNews, more: batch.more }
  }

  /** Goes on in the next turn, unless that is what happens already. */
  async #continue(): Promise<void> {
    if (this.#busy) return
    this.#busy = true
    await nextTurn()
    this.#busy = false
    this.#guard(() => this.#advance())
  }

  async #anew(): Promise<void> {
    this.#busy = true
    this.#isDeriving = true
    this.#catchUp()
    const before = this.#impactOfAll()
    const had = this.#exists
    const reason = this.#lost
    this.#lost = undefined
    try {
      await this.#derive(reason === 'store_replaced')
    } catch (bug) {
      this.#options.onBug(bug)
      return
    }
    if (this.#closed) return
    if (reason === 'segment_replaced' || reason === 'segment_shrunk') this.#tally(reason, 1)
    if (reason === 'store_replaced' && had && this.#exists) this.#tally(reason, 1)
    const impact = new ImpactSet()
    impact.addAll(before)
    impact.addAll(this.#impactOfAll())
    this.#busy = false
    this.#isDeriving = false
    // What was reported meanwhile is looked at again, and is either still so or was seen.
    this.#lost = undefined
    this.#options.onChange(impact.toImpact(), 'derivation')
    // What came while it was derived may have been looked at already, so that no look to come finds it new.
    this.onNews(this.source.look())
  }

  async #derive(isOther: boolean): Promise<void> {
    this.#busy = true
    const snapshot = await inSlices(this.source.derive(), () => this.#closed)
    if (snapshot === undefined) return
    const { seed, now } = this.#options
    if (this.#epoch > 0) this.#holesBefore += this.#state.fold.openHoles.length
    this.#epoch += 1
    this.#exists = this.source.look().exists
    this.#failures = snapshot.failures
    this.#unread = snapshot.unreadable
    this.#snapshot = snapshot
    this.#head = snapshot.head
    this.#registryAuthoritative = snapshot.registryAuthoritative
    this.#latest = undefined
    this.#redaction = snapshot.redactionPending
    this.#flaws = []
    this.#malformed = snapshot.counts.get('malformed') ?? 0
    this.#state = new State(snapshot.fold, {
      blob: ref => this.source.blob(ref),
      onBlob: kind => this.#tally(kind, 1),
      onFlaws: flaws => this.#rebase(flaws),
    })
    this.#roster = new Roster(this.#state, now)
    this.#board = new BoardMaker(this.#state, seed)
    snapshot.fold.judgeRepeats(new RecentRecords())
    this.#activity = undefined
    this.#reader = this.source.reader(snapshot.end)
    // What was counted before in the same store is not counted again.
    if (isOther) for (const [kind, times] of snapshot.counts) this.#tally(kind, times)
  }

  /** Lines were not what they seemed: the same place is derived without them. */
  #rebase(flaws: readonly Flaw[]): Snapshot['fold'] {
    // What was read and is not applied yet is part of the place that is derived.
    this.#catchUp()
    this.#flaws = [...this.#flaws, ...flaws]
    const until = this.#reader.position
    this.#holesBefore += this.#state.fold.openHoles.length
    const { fold, counts } = runAtOnce(this.source.derive({ flaws: this.#flaws, until }))
    fold.judgeRepeats(new RecentRecords())
    for (const flaw of flaws) if ('checkpoint' in flaw) this.#tally('checkpoint_rejected', 1)
    // Every line of such a segment was parsed now: what was found before is not counted again.
    const malformed = counts.get('malformed') ?? 0
    this.#tally('malformed', Math.max(0, malformed - this.#malformed))
    this.#malformed = Math.max(malformed, this.#malformed)
    // Reported later: who reads an entity now must not be called back in the middle of it.
    const impact = this.#impactOfAll()
    void nextTurn().then(() => {
      if (!this.#closed) this.#options.onChange(impact, 'derivation')
    })
    return fold
  }

  /** Has the state come level with what was read, for whoever is about to look at it. */
  #settle(): void {
    if (this.#owed.isEmpty) return
    this.#guard(() => this.#catchUp())
    if (this.#lost !== undefined) void this.#continue()
  }

  #catchUp(): void {
    for (const batch of this.#owed.take()) this.#apply(batch)
  }

  #apply(batch: Batch): void {
    for (const [kind, times] of batch.counts) {
      if (kind === 'unreadable') this.#cannotRead(times)
      else this.#tally(kind, times)
      if (kind === 'malformed') this.#malformed += times
    }
    let idle = 0
    batch.entries.forEach(({ record }, at) => {
      const { fold } = this.#state
      for (; (batch.idle[idle]?.before ?? Infinity) <= at; idle++) fold.see((batch.idle[idle] as Idle).seq)
      const effect = effectOf(record)
      this.#state.apply(record, effect)
      if (effect === 'meta') this.#note(record)
      else this.#roster.see(record)
      if (!entersActivity(record)) return
      this.#activity ??= this.#firstActivity()
      this.#activity.push(record)
    })
    for (const { seq } of batch.idle.slice(idle)) this.#state.fold.see(seq)
    for (const [kind, times] of this.#state.fold.takeCounts()) this.#tally(kind, times)
    const changed = impactOf(batch.entries.map(({ record }) => record))
    this.#board.touch(changed.itemTypes)
    this.#options.onChange(changed, 'records')
  }

  #firstActivity(): RingBuffer<ReadRecord> {
    const ring = new RingBuffer<ReadRecord>(this.#options.activityMax)
    for (const record of this.#snapshot.activity()) ring.push(record)
    return ring
  }

  #note(record: ReadRecord): void {
    if (isRegistryGenesis(record)) this.#registryAuthoritative = true
    // A redaction rewrites old lines, archived ones too, where no watch looks; its last act is a checkpoint.
    if (isRedaction(record)) this.#redaction = true
    if (record.action === 'checkpoint_ref' && this.#redaction) this.#lost ??= 'redaction'
  }

  #impactOfAll(): Impact {
    const impact = new ImpactSet()
    for (const type of this.#state.counts.keys()) impact.addType(type)
    const { itemTypes, sections } = impact.toImpact()
    return { itemTypes, sections, personas: this.#roster.names() }
  }

  #cannotRead(times: number): void {
    this.#unread += times
    this.#tally('unreadable', times)
  }

  #tally(kind: AnomalyKind, times: number): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + times)
  }

  #count(kind: AnomalyKind): number {
    return this.counts.get(kind) ?? 0
  }

  #guard(step: () => void): void {
    try {
      step()
    } catch (bug) {
      this.#options.onBug(bug)
    }
  }
}

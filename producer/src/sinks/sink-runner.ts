import { deliveryTriesOf, isNews, type ReadRecord } from '@kim/manifest'
import {
  type Change,
  type JournalFacts,
  type MonitorEvent,
  monitorEvent,
  openTail,
  type RecordTail,
} from '@kim/observer-sdk'
import type { Clock } from '../effects/clock.js'
import type { Timers } from '../effects/timers.js'
import { Bell } from './bell.js'
import { gapLine } from './gap-line.js'
import { Lanes, type Parcel } from './lanes.js'
import type { Ledger, Progress } from './ledger.js'
import type { SinkLog } from './log.js'
import type { Place } from './place.js'
import type { Delivery, Sink } from './sink.js'
import { failingLine, startedLine, workingLine } from './sink-lines.js'
import { progressOf, type SinkStatus } from './sink-status.js'
import { Skips } from './skips.js'
import { Troubles } from './troubles.js'

/** What the sinks of one process share. */
export interface SinkSurroundings {
  readonly eventsDir: string
  readonly facts: JournalFacts
  /** Code points of a body that are shown; undefined to leave bodies out. */
  readonly contentChars: number | undefined
  /** The number of the newest record that is durable; undefined once nobody knows what the disk holds. */
  readonly durableSeq: () => number | undefined
  readonly clock: Clock
  readonly timers: Timers
  readonly log: SinkLog
}

type Arrived = { readonly change: Change | undefined } | { readonly error: unknown }

/** So many records without an event go by before the watermark that passed them is made durable. */
const SAVE_RECORDS = 1000
/** After a fault of the reader itself, and between two looks at what was not durable or could not be kept. */
const AGAIN_MS = 1000

/**
 * Follows the journal for one sink, at that sink's pace. What stands in the way of a lane is said once, tried again
 * with back-off and caught up with in order, while the journal, other sinks and other lanes go on. An event that is
 * no mail is skipped after its tries, so that it cannot hold mail for good (KS-72).
 */
export class SinkRunner {
  readonly #sink: Sink
  readonly #around: SinkSurroundings
  readonly #ledger: Ledger
  readonly #lanes: Lanes
  readonly #bell: Bell
  readonly #end = new AbortController()
  readonly #troubles: Troubles
  #running: Promise<void> | undefined
  /** Counts what a new sink passes over; undefined once that was said. */
  #passedOver: number | undefined
  readonly #beginSeq: number
  #savedSeq: number
  #isUnsaved = false
  #arrived: Arrived | undefined
  #mustReopen = false
  #beatEvents: readonly MonitorEvent[] = []
  readonly #gaps: Record<string, number> = {}
  readonly #skips: Skips
  /** When nothing was waiting for this sink, as far as anybody looked. */
  #idleMs: number

  /** `isNew`: this sink takes `progress.passed` for its beginning and says what it passed over. */
  constructor(
    sink: Sink,
    around: SinkSurroundings,
    {
      ledger,
      progress,
      isNew,
    }: { readonly ledger: Ledger; readonly progress: Progress; readonly isNew: boolean },
  ) {
    this.#sink = sink
    this.#around = around
    this.#ledger = ledger
    this.#lanes = new Lanes(progress.passed, progress.held)
    this.#bell = new Bell(around.timers)
    this.#troubles = new Troubles(sink.name, around.log)
    this.#skips = new Skips(sink.name, around.clock, around.log)
    this.#passedOver = isNew ? 0 : undefined
    this.#beginSeq = progress.passed.seq
    this.#savedSeq = progress.passed.seq
    this.#idleMs = around.clock.monoMs()
    if (isNew) this.#save()
  }

  /** Where every lane has come to that nothing is in the way of. */
  get passedSeq(): number {
    return this.#lanes.passed.seq
  }

  /** How it is; `identity` is what its watermark is kept under. */
  status(identity: string): SinkStatus {
    const nowMs = this.#around.clock.monoMs()
    const progress = progressOf(this.#lanes, this.#around.durableSeq(), nowMs)
    if (progress.behind === 0) this.#idleMs = nowMs
    const { name } = this.#sink
    return {
      sink: name,
      identity,
      why: this.#troubles.why,
      lag_ms: nowMs - this.#idleMs,
      gaps: { ...this.#gaps },
      skipped: this.#skips.counts,
      ...progress,
    }
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Hands signs of life over when there is time for them; those before it that still wait are past. */
  beat(events: readonly MonitorEvent[]): void {
    this.#beatEvents = events
    this.#bell.ring()
  }

  /** Ends what is under way. What was not acknowledged comes again in the next life. */
  async close(): Promise<void> {
    this.#end.abort()
    this.#bell.ring()
    await this.#running
    if (this.#isUnsaved || this.#isUnnoted) this.#save()
    this.#sink.close()
  }

  get #isEnded(): boolean {
    return this.#end.signal.aborted
  }

  async #run(): Promise<void> {
    while (!this.#isEnded) {
      try {
        await this.#follow()
        this.#troubles.over('reader')
      } catch (error) {
        this.#troubles.begin('reader', error instanceof Error ? error.message : String(error))
        if (!this.#isEnded) await this.#bell.sleep(AGAIN_MS)
      }
    }
  }

  /** Reads on from where the lanes stand until the end, or until a lane has to catch up. */
  async #follow(): Promise<void> {
    this.#mustReopen = false
    this.#arrived = undefined
    const tail = await this.#open()
    const changes = tail.changes()
    let isOver = false
    const arrive = (arrived: Arrived): void => {
      if (isOver) return
      this.#arrived = arrived
      this.#bell.ring()
    }
    const pull = (): void => {
      changes.next().then(
        ({ value }) => arrive({ change: value ?? undefined }),
        (error: unknown) => arrive({ error }),
      )
    }
    try {
      pull()
      while (!this.#isEnded && !this.#mustReopen) {
        await this.#bell.sleep(this.#sleepMs())
        if (this.#isEnded) return
        // Where nothing follows, what was passed is noted too: it is asked for when nothing runs any more.
        if (this.#isUnsaved || (this.#isUnnoted && this.#arrived === undefined)) this.#save()
        await this.#retry()
        await this.#deliverBeat()
        const arrived = this.#mustReopen ? undefined : this.#receive()
        if (arrived === undefined) continue
        if ('error' in arrived) throw arrived.error
        if (arrived.change === undefined) return
        await this.#take(arrived.change)
        if (!this.#mustReopen) pull()
      }
    } finally {
      isOver = true
      await tail.close()
    }
  }

  async #open(): Promise<RecordTail> {
    if (this.#passedOver !== undefined) this.#passedOver = 0
    const start = this.#passedOver === undefined ? this.#lanes.start : undefined
    const cursor = start === undefined ? undefined : { ...start, checkpoint_seq: 0 }
    const tail = await openTail({
      eventsDir: this.#around.eventsDir,
      cursors: { load: () => cursor, save: () => undefined },
      from: 'start',
    })
    // Further than the journal: another one was put in its place, and its numbers were given out anew.
    const isBeyond = this.#lanes.passed.seq > tail.head.seq
    if (start !== undefined && isBeyond && start.seq < this.#lanes.passed.seq) this.#lanes.rewind(start)
    return tail
  }

  #receive(): Arrived | undefined {
    const arrived = this.#arrived
    this.#arrived = undefined
    return arrived
  }

  #sleepMs(): number | undefined {
    const at = this.#lanes.retryAtMs
    if (at !== undefined) return Math.max(0, at - this.#around.clock.monoMs())
    return this.#isUnsaved || this.#isUnnoted ? AGAIN_MS : undefined
  }

  /** The lanes have come further than the watermark that was made durable last. */
  get #isUnnoted(): boolean {
    return this.#lanes.passed.seq > this.#savedSeq
  }

  async #take({ records, gap, cursor }: Change): Promise<void> {
    if (gap !== undefined) {
      const { from, reason } = gap
      this.#around.log({ ...gapLine(gap), fields: { sink: this.#sink.name } })
      if (reason === 'rewound') this.#lanes.rewind({ seq: (records[0]?.seq ?? from) - 1, writer: null })
      else this.#gaps[reason] = (this.#gaps[reason] ?? 0) + 1
    }
    await this.#untilDurable(records)
    for (const [lane, parcels] of this.#sorted(records)) {
      if (this.#isEnded) return
      await this.#deliver(lane, parcels)
    }
    if (this.#isEnded || this.#mustReopen) return
    this.#lanes.pass({ seq: cursor.seq, writer: cursor.writer })
    if (!this.#lanes.areBlocked) this.#idleMs = this.#around.clock.monoMs()
    if (this.#lanes.passed.seq - this.#savedSeq >= SAVE_RECORDS) this.#save()
    if (cursor.seq >= this.#beginSeq) this.#sayPassedOver()
  }

  /**
   * A record is told of once it is durable: what a full disk left standing may be part of the journal or not yet, and
   * what a failed sync left is nobody's to tell.
   */
  async #untilDurable(records: readonly ReadRecord[]): Promise<void> {
    const newest = records.reduce((highest, { seq }) => Math.max(highest, seq), 0)
    while (!this.#isEnded) {
      const durable = this.#around.durableSeq()
      if (durable === undefined) this.#end.abort()
      else if (newest <= durable) return
      else await this.#bell.sleep(AGAIN_MS)
    }
  }

  /** The events among records, by lane. */
  #sorted(records: readonly ReadRecord[]): Map<string, Parcel[]> {
    const { contentChars, facts } = this.#around
    const { passed } = this.#lanes
    const byLane = new Map<string, Parcel[]>()
    for (const record of records) {
      const { seq, writer = null, agent = '' } = record
      if (this.#isOtherThan(passed, record)) {
        this.#lanes.rewind(this.#lanes.start)
        this.#mustReopen = true
        return new Map()
      }
      if (!isNews(record)) continue
      if (this.#passedOver !== undefined && seq <= passed.seq) this.#passedOver++
      const lane = this.#sink.laneOf(agent)
      if (!this.#lanes.wants(lane, seq)) continue
      const event = monitorEvent(record, { facts, contentChars, platform: process.platform })
      if (event === undefined) continue
      const parcels = byLane.get(lane)
      if (parcels === undefined) byLane.set(lane, [{ event, place: { seq, writer } }])
      else parcels.push({ event, place: { seq, writer } })
    }
    return byLane
  }

  /** True for the record of the watermark's number where somebody else has written it. */
  #isOtherThan({ seq, writer }: Place, record: ReadRecord): boolean {
    return record.seq === seq && writer !== null && record.writer !== writer && this.#lanes.start.seq < seq
  }

  async #deliver(lane: string, parcels: readonly Parcel[]): Promise<void> {
    const { batchMax } = this.#sink
    for (let from = 0; from < parcels.length && !this.#isEnded; ) {
      const batch = parcels.slice(from, from + batchMax)
      const { taken, failure } = await this.#hand(lane, batch)
      const last = batch[taken - 1]
      if (last !== undefined) this.#lanes.took(lane, last.place)
      const next = batch[taken]
      const isSkipped = failure !== undefined && next !== undefined && this.#refused(lane, next, failure)
      if (isSkipped) this.#lanes.took(lane, next.place)
      if (taken > 0 || isSkipped) this.#save()
      if (next !== undefined && !isSkipped && (taken === 0 || failure !== undefined)) return
      from += taken + (isSkipped ? 1 : 0)
    }
  }

  #hand(lane: string, parcels: readonly Parcel[]): Promise<Delivery> {
    return this.#tell(
      lane,
      parcels.map(({ event }) => event),
    )
  }

  async #tell(lane: string, events: readonly MonitorEvent[]): Promise<Delivery> {
    try {
      return await this.#sink.deliver(lane, events, this.#end.signal)
    } catch (error) {
      return { taken: 0, failure: error instanceof Error ? error.message : String(error) }
    }
  }

  /** Holds a lane at an event that it refused; true if that was the event's last try, so that it is skipped. */
  #refused(lane: string, parcel: Parcel, failure: string): boolean {
    const { name, judgesEvents } = this.#sink
    const { event } = parcel
    const triesMax = judgesEvents ? deliveryTriesOf(event.event) : Number.POSITIVE_INFINITY
    const tries = (this.#lanes.blockOf(lane)?.tries ?? 0) + 1
    if (tries >= triesMax) {
      this.#skips.add({ event, lane, tries, why: failure })
      return true
    }
    const isNewTrouble = this.#lanes.refused(lane, parcel, this.#around.clock.monoMs(), failure)
    if (!isNewTrouble) return false
    // With why: it is asked for when nothing runs any more.
    this.#save()
    this.#around.log(failingLine({ sink: name, lane }, event.event_id, failure, triesMax))
    return false
  }

  /** Tries the lanes whose time has come; one that takes its event again catches up from there. */
  async #retry(): Promise<void> {
    for (const [lane, { parcel, tries, sinceMs }] of this.#lanes.due(this.#around.clock.monoMs())) {
      const { taken, failure } = await this.#hand(lane, [parcel])
      if (this.#isEnded && taken === 0) return
      if (taken === 0 && !this.#refused(lane, parcel, failure ?? '')) continue
      this.#lanes.freed(lane)
      this.#save()
      this.#mustReopen = true
      if (taken === 0) continue
      const seconds = Math.round((this.#around.clock.monoMs() - sinceMs) / 1000)
      this.#around.log(workingLine({ sink: this.#sink.name, lane }, seconds, tries))
    }
  }

  /** Signs of life wait for nothing and are not tried twice. */
  async #deliverBeat(): Promise<void> {
    const events = this.#beatEvents
    this.#beatEvents = []
    const byLane = new Map<string, MonitorEvent[]>()
    for (const event of events) {
      const lane = this.#sink.laneOf(String(event['persona'] ?? ''))
      if (this.#lanes.isBlocked(lane)) continue
      const one = byLane.get(lane)
      if (one === undefined) byLane.set(lane, [event])
      else one.push(event)
    }
    for (const [lane, beats] of byLane) {
      for (let from = 0; from < beats.length && !this.#isEnded; ) {
        const batch = beats.slice(from, from + this.#sink.batchMax)
        const { taken, failure } = await this.#tell(lane, batch)
        const event = batch[taken]
        const isSkipped = this.#sink.judgesEvents && failure !== undefined && event !== undefined
        if (isSkipped) this.#skips.add({ event, lane, tries: 1, why: failure })
        else if (taken === 0) break
        from += taken + (isSkipped ? 1 : 0)
      }
    }
  }

  #save(): void {
    const { passed, held: places } = this.#lanes
    const held = places.map(([lane, place]) => [lane, place, this.#lanes.blockOf(lane)?.why] as const)
    try {
      this.#ledger.save({ passed, held, names: this.#sink.names?.given ?? [] })
      this.#savedSeq = passed.seq
      this.#isUnsaved = false
      this.#troubles.over('watermark')
    } catch (error) {
      this.#isUnsaved = true
      this.#troubles.begin(
        'watermark',
        `cannot store the watermark: ${error instanceof Error ? error.message : error}`,
      )
    }
  }

  #sayPassedOver(): void {
    if (this.#passedOver === undefined) return
    const count = this.#passedOver
    this.#passedOver = undefined
    this.#around.log(startedLine(this.#sink.name, count))
  }
}

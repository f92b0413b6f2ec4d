import { isNews, type ReadRecord, Signal, type Watermark } from '@kim/manifest'
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
import { gapLine } from './gap-line.js'
import { LaneWorkers } from './lane-workers.js'
import { Lanes, type QueuedEvent } from './lanes.js'
import type { SinkLog } from './log.js'
import type { Sink } from './sink.js'
import { SinkErrors } from './sink-errors.js'
import { startedLine } from './sink-lines.js'
import { progressOf, type SinkStatus } from './sink-status.js'
import type { SinkState, WatermarkFile } from './watermark-file.js'

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
 * Follows the journal for one sink and queues its events by lane, while workers deliver them. What is in the way of a
 * lane holds neither the journal nor other sinks nor other lanes (KS-72).
 */
export class SinkRunner {
  readonly #sink: Sink
  readonly #around: SinkSurroundings
  readonly #watermarkFile: WatermarkFile
  readonly #lanes: Lanes
  readonly #signal = new Signal()
  readonly #end = new AbortController()
  readonly #errors: SinkErrors
  #running: Promise<void> | undefined
  /** Counts what a new sink passes over; undefined once that was said. */
  #passedOver: number | undefined
  readonly #beginSeq: number
  #savedSeq: number
  #savedLanes: number
  #isUnsaved = false
  #arrived: Arrived | undefined
  #mustReopen = false
  readonly #gaps: Record<string, number> = {}
  readonly #workers: LaneWorkers
  /** When the whole journal had been read for this sink. */
  #idleMs: number

  /** `isNew`: this sink takes `progress.passed` for its beginning and says what it passed over. */
  constructor(
    sink: Sink,
    around: SinkSurroundings,
    {
      watermarkFile,
      progress,
      isNew,
    }: { readonly watermarkFile: WatermarkFile; readonly progress: SinkState; readonly isNew: boolean },
  ) {
    this.#sink = sink
    this.#around = around
    this.#watermarkFile = watermarkFile
    this.#lanes = new Lanes(progress.passed, progress.held)
    this.#errors = new SinkErrors(sink.name, around.log)
    this.#workers = new LaneWorkers({
      sink,
      lanes: this.#lanes,
      clock: around.clock,
      timers: around.timers,
      log: around.log,
      save: () => this.#save(),
      changed: () => this.#signal.raise(),
    })
    this.#passedOver = isNew ? 0 : undefined
    this.#beginSeq = progress.passed.seq
    this.#savedSeq = progress.passed.seq
    this.#savedLanes = progress.held.length
    this.#idleMs = around.clock.monoMs()
    if (isNew) this.#save()
  }

  /** True if every lane has dealt with the records up to here, but for those that are held. */
  isThrough(seq: number): boolean {
    return this.#lanes.passed.seq >= seq && !this.#lanes.areWorking
  }

  /** How it is; `identity` is what its watermark is kept under. */
  status(identity: string): SinkStatus {
    const nowMs = this.#around.clock.monoMs()
    const progress = progressOf(this.#lanes, this.#around.durableSeq(), nowMs)
    if (this.#lanes.passed.seq >= (this.#around.durableSeq() ?? 0)) this.#idleMs = nowMs
    const { name, skipped } = this.#sink
    return {
      sink: name,
      identity,
      why: this.#errors.why,
      lag_ms: Math.max(nowMs - this.#idleMs, this.#lanes.waitMs(nowMs)),
      gaps: { ...this.#gaps },
      skipped,
      ...progress,
    }
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Hands signs of life over when there is time for them; those before it that still wait are past. */
  beat(events: readonly MonitorEvent[]): void {
    this.#workers.beat(events)
  }

  /** Ends what is under way. What was not acknowledged comes again in the next life. */
  async close(): Promise<void> {
    this.#endAll()
    await this.#workers.close()
    await this.#running
    if (this.#isUnsaved || this.#isUnnoted) this.#save()
    this.#sink.close()
  }

  #endAll(): void {
    this.#end.abort()
    this.#workers.end()
    this.#signal.raise()
  }

  get #isEnded(): boolean {
    return this.#end.signal.aborted
  }

  async #run(): Promise<void> {
    while (!this.#isEnded) {
      try {
        await this.#follow()
        this.#errors.over('reader')
      } catch (error) {
        this.#errors.begin('reader', error instanceof Error ? error.message : String(error))
        if (!this.#isEnded) await this.#signal.sleep(AGAIN_MS, this.#around.timers)
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
      this.#signal.raise()
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
        await this.#signal.sleep(this.#sleepMs(), this.#around.timers)
        if (this.#isEnded) return
        // Where nothing follows, what was passed is noted too: it is asked for when nothing runs any more.
        const isQuiet = this.#arrived === undefined && !this.#lanes.areWorking
        if (this.#isUnsaved || (this.#isUnnoted && isQuiet)) this.#save()
        this.#mustReopen ||= this.#lanes.mustReopen
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
    const from = this.#lanes.open()
    const start = this.#passedOver === undefined ? from : undefined
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
    return this.#isUnsaved || this.#isUnnoted ? AGAIN_MS : undefined
  }

  /** The sink is further than the watermark says that was made durable last. */
  get #isUnnoted(): boolean {
    return this.#lanes.passed.seq > this.#savedSeq || this.#lanes.all.length < this.#savedLanes
  }

  async #take({ records, gap, cursor }: Change): Promise<void> {
    if (gap !== undefined) {
      const { from, reason } = gap
      this.#around.log({ ...gapLine(gap), fields: { sink: this.#sink.name } })
      if (reason === 'rewound') this.#lanes.rewind({ seq: (records[0]?.seq ?? from) - 1, writer: null })
      else this.#gaps[reason] = (this.#gaps[reason] ?? 0) + 1
    }
    await this.#untilDurable(records)
    if (this.#isEnded) return
    for (const [lane, parcels] of this.#sorted(records)) this.#queue(lane, parcels)
    if (this.#mustReopen) return
    this.#lanes.pass({ seq: cursor.seq, writer: cursor.writer })
    this.#idleMs = this.#around.clock.monoMs()
    if (!this.#sink.areLanesSlow) await this.#untilDelivered()
    if (this.#lanes.passed.seq - this.#savedSeq >= SAVE_RECORDS) this.#save()
    if (cursor.seq >= this.#beginSeq) this.#sayPassedOver()
  }

  #queue(name: string, parcels: readonly QueuedEvent[]): void {
    const lane = this.#lanes.add(name, parcels, this.#around.clock.monoMs())
    if (lane !== undefined) this.#workers.start(lane)
  }

  /** Waits for the lanes that nothing is in the way of. */
  async #untilDelivered(): Promise<void> {
    while (this.#lanes.areWorking && !this.#isEnded) await this.#signal.sleep(undefined, this.#around.timers)
  }

  /**
   * A record is told of once it is durable: what a full disk left standing may be part of the journal or not yet, and
   * what a failed sync left is nobody's to tell.
   */
  async #untilDurable(records: readonly ReadRecord[]): Promise<void> {
    const newest = records.reduce((highest, { seq }) => Math.max(highest, seq), 0)
    while (!this.#isEnded) {
      const durable = this.#around.durableSeq()
      if (durable === undefined) this.#endAll()
      else if (newest <= durable) return
      else await this.#signal.sleep(AGAIN_MS, this.#around.timers)
    }
  }

  /** The events among records, by lane. */
  #sorted(records: readonly ReadRecord[]): Map<string, QueuedEvent[]> {
    const { contentChars, facts } = this.#around
    const { passed } = this.#lanes
    const byLane = new Map<string, QueuedEvent[]>()
    for (const record of records) {
      const { seq, writer = null, agent = '' } = record
      if (this.#isOtherThan(passed, record)) {
        this.#lanes.rewind(this.#lanes.readFrom)
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
  #isOtherThan({ seq, writer }: Watermark, record: ReadRecord): boolean {
    return record.seq === seq && writer !== null && record.writer !== writer && this.#lanes.readFrom.seq < seq
  }

  #save(): void {
    const { all, passed } = this.#lanes
    const held = all.map(({ block, name, place }) => [name, place, block?.why] as const)
    try {
      this.#watermarkFile.save({ passed, held, names: this.#sink.names?.given ?? [] })
      this.#savedSeq = passed.seq
      this.#savedLanes = held.length
      this.#isUnsaved = false
      this.#errors.over('watermark')
    } catch (error) {
      this.#isUnsaved = true
      this.#errors.begin(
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

import { isNews, type ReadRecord, Signal, type Watermark } from '@kim/manifest'
import { type JournalFacts, type MonitorEvent, monitorEvent } from '@kim/monitor'
import { type Change, openTail, type RecordTail } from '@kim/observer-sdk'
import type { Clock, Timers } from '../effects/system.js'
import type { LogEntry } from '../journal/store.js'
import { Lanes, LaneWorkers, type QueuedEvent } from './lanes.js'
import type { HeldLane, Sink, SinkLog, SinkStatus } from './sink.js'
import type { SinkState, WatermarkFile } from './watermark-file.js'

/** What the sinks of one process share. */
export interface SinkSurroundings {
  readonly eventsDir: string
  readonly facts: JournalFacts
  /** How many code points of a message are shown; undefined for none. */
  readonly contentChars: number | undefined
  /** The newest durable record; undefined after a failed sync, because then it is unknown. */
  readonly durableSeq: () => number | undefined
  readonly clock: Clock
  readonly timers: Timers
  readonly log: SinkLog
}

type Arrived = { readonly change: Change | undefined } | { readonly error: unknown }

/** After this many records without an event the watermark is stored all the same. */
const SAVE_RECORDS = 1000
/** The delay before a retry: of a failed reader, of a store of the watermark, of a check whether a record is durable. */
const AGAIN_MS = 1000
/** The most held lanes that a status lists. */
const LANES_SHOWN_MAX = 20

/**
 * Follows the journal for one sink and queues its events by lane. Workers deliver them. A failing lane delays neither
 * the journal nor other sinks nor other lanes (KS-72).
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
  /** For a new sink, the number of existing events that it skips; undefined once it is logged. */
  #passedOver: number | undefined
  readonly #beginSeq: number
  #savedSeq: number
  #savedLanes: number
  #isUnsaved = false
  #mustReopen = false
  readonly #gaps: Record<string, number> = {}
  readonly #workers: LaneWorkers
  /** When the sink had last read the whole journal. */
  #idleMs: number

  /** A sink that `isNew` begins at `progress.passed` and logs how many events it skips. */
  constructor(
    sink: Sink,
    around: SinkSurroundings,
    watermarkFile: WatermarkFile,
    progress: SinkState,
    isNew: boolean,
  ) {
    this.#sink = sink
    this.#around = around
    this.#watermarkFile = watermarkFile
    this.#lanes = new Lanes(progress.passed, progress.held)
    this.#errors = new SinkErrors(sink.name, around.log)
    this.#workers = new LaneWorkers({
      ...{ sink, lanes: this.#lanes, clock: around.clock, timers: around.timers, log: around.log },
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

  /** Whether all lanes that are not held have delivered the records up to this one. */
  isThrough(seq: number): boolean {
    return this.#lanes.passed.seq >= seq && !this.#lanes.areWorking
  }

  status(identity: string): SinkStatus {
    const nowMs = this.#around.clock.monoMs()
    const durableSeq = this.#around.durableSeq()
    const { all, areBlocked, passed } = this.#lanes
    if (passed.seq >= (durableSeq ?? 0)) this.#idleMs = nowMs
    const held = all
      .filter(
        ({ block, isCatchingUp, missedSinceMs }) => block || isCatchingUp || missedSinceMs !== undefined,
      )
      .map(({ block, name: lane, place: { seq } }): HeldLane => {
        if (block === undefined) return { lane, seq, why: null, tries: 0, for_ms: 0 }
        return { lane, seq, why: block.why, tries: block.tries, for_ms: nowMs - block.sinceMs }
      })
      .sort((a, b) => a.seq - b.seq)
    const lowest = Math.min(passed.seq, ...all.map(({ place }) => place.seq))
    return {
      sink: this.#sink.name,
      identity,
      why: this.#errors.why,
      lag_ms: Math.max(nowMs - this.#idleMs, this.#lanes.waitMs(nowMs)),
      gaps: { ...this.#gaps },
      skipped: this.#sink.skipped ?? {},
      state: areBlocked ? 'held' : 'working',
      seq: passed.seq,
      behind: Math.max(0, (durableSeq ?? passed.seq) - lowest),
      held: held.length,
      lanes: held.slice(0, LANES_SHOWN_MAX),
    }
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Sends heartbeats as soon as the lanes have time for them. They replace earlier ones that still wait. */
  beat(events: readonly MonitorEvent[]): void {
    this.#workers.beat(events)
  }

  /** Ends all deliveries. The next process delivers again what was not acknowledged. */
  async close(): Promise<void> {
    this.#endAll()
    await this.#workers.close()
    await this.#running
    if (this.#isUnsaved || this.#isAhead) this.#save()
    this.#sink.close?.()
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
        this.#errors.end('reader')
      } catch (error) {
        this.#errors.begin('reader', error instanceof Error ? error.message : String(error))
        if (!this.#isEnded) await this.#signal.sleep(AGAIN_MS, this.#around.timers)
      }
    }
  }

  /** Reads from the positions of the lanes until the end, or until a lane has to catch up. */
  async #follow(): Promise<void> {
    this.#mustReopen = false
    const arrivals: Arrived[] = []
    const tail = await this.#open()
    const changes = tail.changes()
    const arrive = (arrived: Arrived): void => {
      arrivals.push(arrived)
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
        const sleepMs = this.#isUnsaved || this.#isAhead ? AGAIN_MS : undefined
        await this.#signal.sleep(sleepMs, this.#around.timers)
        if (this.#isEnded) return
        // While nothing arrives, the watermark is stored too: kim-producer status reads it when no producer runs.
        const isQuiet = arrivals.length === 0 && !this.#lanes.areWorking
        if (this.#isUnsaved || (this.#isAhead && isQuiet)) this.#save()
        this.#mustReopen ||= this.#lanes.mustReopen
        const arrived = this.#mustReopen ? undefined : arrivals.shift()
        if (arrived === undefined) continue
        if ('error' in arrived) throw arrived.error
        if (arrived.change === undefined) return
        await this.#take(arrived.change)
        if (!this.#mustReopen) pull()
      }
    } finally {
      await tail.close()
    }
  }

  async #open(): Promise<RecordTail> {
    const isNew = this.#passedOver !== undefined
    if (isNew) this.#passedOver = 0
    const from = this.#lanes.open()
    const cursor = isNew ? undefined : { ...from, checkpoint_seq: 0 }
    const tail = await openTail({
      eventsDir: this.#around.eventsDir,
      cursors: { load: () => cursor, save: () => undefined },
      from: 'start',
    })
    // A watermark beyond the end of the journal: the journal was replaced, and its numbers are used again.
    const { seq } = this.#lanes.passed
    if (!isNew && seq > tail.head.seq && from.seq < seq) this.#lanes.rewind(from)
    return tail
  }

  /** The sink is further than the stored watermark. */
  get #isAhead(): boolean {
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
    for (const [name, queued] of this.#sorted(records)) {
      const lane = this.#lanes.add(name, queued, this.#around.clock.monoMs())
      if (lane !== undefined) this.#workers.start(lane)
    }
    if (this.#mustReopen) return
    this.#lanes.pass({ seq: cursor.seq, writer: cursor.writer })
    this.#idleMs = this.#around.clock.monoMs()
    while (!this.#sink.areLanesSlow && this.#lanes.areWorking && !this.#isEnded)
      await this.#signal.sleep(undefined, this.#around.timers)
    if (this.#lanes.passed.seq - this.#savedSeq >= SAVE_RECORDS) this.#save()
    if (cursor.seq >= this.#beginSeq) this.#logStart()
  }

  /** A record is delivered only once it is durable: the disk may still lose it after an error. */
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
      const queued = byLane.get(lane) ?? []
      byLane.set(lane, queued)
      queued.push({ event, place: { seq, writer } })
    }
    return byLane
  }

  /** Whether another process wrote the record at the watermark than the watermark says. */
  #isOtherThan({ seq, writer }: Watermark, record: ReadRecord): boolean {
    return record.seq === seq && writer !== null && record.writer !== writer && this.#lanes.readFrom.seq < seq
  }

  #save(): void {
    const { all, passed } = this.#lanes
    const held = all.map(({ block, name, place }) => [name, place, block?.why] as const)
    try {
      this.#watermarkFile.save({ passed, held, names: this.#sink.givenNames ?? [] })
      this.#savedSeq = passed.seq
      this.#savedLanes = held.length
      this.#isUnsaved = false
      this.#errors.end('watermark')
    } catch (error) {
      this.#isUnsaved = true
      const why = error instanceof Error ? error.message : error
      this.#errors.begin('watermark', `cannot store the watermark: ${why}`)
    }
  }

  #logStart(): void {
    if (this.#passedOver === undefined) return
    const sink = this.#sink.name
    this.#around.log({
      level: 'info',
      code: 'sink_started',
      message: `${sink}: begins at the head; skipped ${this.#passedOver} existing events`,
      fields: { sink, passed_over: this.#passedOver },
    })
    this.#passedOver = undefined
  }
}

/** What a sink can do again when a lasting problem ends. */
const WORKS = { reader: 'read the journal', watermark: 'save its watermark' } as const

/** What such a problem means until then. */
const MEANINGS = {
  reader: 'the sink waits and retries every second; its watermark is kept, so it catches up in order',
  watermark:
    'events are still delivered, and the sink retries; if the producer ends before this is corrected, the sink repeats events',
} as const

/** Lasting problems of a sink apart from its lanes: one log line when one begins and one when it ends (KS-66). */
class SinkErrors {
  readonly #sink: string
  readonly #log: SinkLog
  readonly #whys: Map<string, string> = new Map()

  constructor(sink: string, log: SinkLog) {
    this.#sink = sink
    this.#log = log
  }

  /** The present problems; null if there are none. */
  get why(): string | null {
    return [...this.#whys.values()].join('; ') || null
  }

  begin(what: keyof typeof WORKS, why: string): void {
    if (this.#whys.has(what)) return
    this.#whys.set(what, why)
    const sink = this.#sink
    const message = `${sink}: ${why}`
    this.#log({ level: 'error', code: 'sink_trouble', message, hint: MEANINGS[what], fields: { sink } })
  }

  end(what: keyof typeof WORKS): void {
    if (!this.#whys.delete(what)) return
    const sink = this.#sink
    const message = `${sink}: can ${WORKS[what]} again`
    this.#log({ level: 'info', code: 'sink_trouble_over', message, fields: { sink } })
  }
}

function gapLine({ from, to, reason }: NonNullable<Change['gap']>): LogEntry {
  if (reason === 'rewound') {
    const message = `the journal was replaced or restored to an earlier state: events from record ${from} on are delivered, some perhaps again`
    return { level: 'warn', code: 'sink_rewound', message }
  }
  const message = `records ${from} to ${to} ${reason === 'missing' ? 'are missing' : 'are no longer available'}, so their events were not delivered`
  return { level: 'warn', code: 'sink_gap', message }
}

import { deliveryTriesOf, type Watermark } from '@kim/manifest'
import { deliveryRetryMs, type MonitorEvent } from '@kim/monitor'
import type { Clock, Timers } from '../effects/system.js'
import type { Delivery, Sink, SinkLog } from './sink.js'

/** An event in the queue of a lane. */
export interface QueuedEvent {
  readonly event: MonitorEvent
  readonly place: Watermark
}

/** Why a lane is held. */
interface Block {
  readonly tries: number
  readonly sinceMs: number
  /** Why the last try failed. */
  readonly why: string
}

/** A lane with this many queued events queues no further batch. */
const QUEUED_MAX = 100
/** With this many events in all queues, lanes whose queue is not empty queue no further batch. */
const ALL_QUEUED_MAX = 1000

/** One lane: its position and its queue. */
export class Lane {
  readonly name: string
  /** It has delivered or skipped everything up to here. */
  place: Watermark
  /** The next events in order; the first ones may be in delivery. */
  readonly queue: QueuedEvent[] = []
  /** The last event that was queued. */
  queuedTo: number
  /** Since when it could not queue events, which must be read again from its position. Undefined if it missed none. */
  missedSinceMs: number | undefined
  /** It reads again what it missed, and is still behind the sink. */
  isCatchingUp = false
  /** Since when its first event has waited. */
  waitsSinceMs = 0
  block: Block | undefined
  /** A worker delivers its queue, or waits to retry. */
  hasWorker = false
  /** The sink is delivering an event or a heartbeat of the lane. */
  isUnderWay = false
  /** Heartbeats by persona, to deliver once the queue is empty. */
  readonly beats: Map<string, MonitorEvent> = new Map()
  /** Aborts the delivery; a rewind replaces it. */
  stop: AbortController = new AbortController()

  constructor(name: string, place: Watermark) {
    this.name = name
    this.place = place
    this.queuedTo = place.seq
  }

  /** Whether nothing waits or is in delivery. */
  get isDone(): boolean {
    return !this.isUnderWay && this.queue.length === 0 && this.beats.size === 0
  }

  /** Removes delivered events from the queue. */
  took(count: number, nowMs: number): void {
    const last = this.queue.splice(0, count).at(-1)
    if (last !== undefined) this.place = last.place
    this.waitsSinceMs = nowMs
  }
}

/**
 * The positions of a sink's lanes. A lane without waiting events is at the position of the sink; only the others have
 * a position of their own. Queues are bounded: a lane that is too far behind misses events, which are read again from
 * its position once its queue is empty.
 */
export class Lanes {
  #passed: Watermark
  readonly #lanes: Map<string, Lane> = new Map()
  #readFrom: Watermark

  constructor(passed: Watermark, held: Iterable<readonly [string, Watermark, ...unknown[]]> = []) {
    this.#passed = passed
    this.#readFrom = passed
    for (const [name, place] of held) {
      const lane = new Lane(name, place)
      lane.missedSinceMs = 0
      this.#lanes.set(name, lane)
    }
  }

  /** The position of the sink: every lane without a position of its own has delivered everything up to here. */
  get passed(): Watermark {
    return this.#passed
  }

  /** The position from which the journal is read. */
  get readFrom(): Watermark {
    return this.#readFrom
  }

  /** Lanes with a position of their own. */
  get all(): readonly Lane[] {
    return [...this.#lanes.values()]
  }

  get areBlocked(): boolean {
    return this.all.some(({ block }) => block !== undefined)
  }

  /** Whether a lane that is not held has something to deliver. */
  get areWorking(): boolean {
    return this.all.some(({ block, isDone }) => !isDone && block === undefined)
  }

  /** Whether a lane is ready to read again what it missed, and no other lane is catching up. */
  get mustReopen(): boolean {
    return this.all.some(mustRead) && !this.all.some(({ isCatchingUp }) => isCatchingUp)
  }

  /** For how long the oldest event has waited. */
  waitMs(nowMs: number): number {
    const waits = this.all.flatMap(({ missedSinceMs, queue, waitsSinceMs }) => [
      ...(queue.length > 0 ? [nowMs - waitsSinceMs] : []),
      ...(missedSinceMs !== undefined && missedSinceMs > 0 ? [nowMs - missedSinceMs] : []),
    ])
    return Math.max(0, ...waits)
  }

  /** Begins to read the journal. Returns the position from which every ready lane gets all it missed. */
  open(): Watermark {
    // These had not caught up when the last reading ended.
    for (const lane of this.all) if (lane.isCatchingUp) lane.missedSinceMs ??= 0
    let start = this.#passed
    for (const lane of this.all) {
      if (!mustRead(lane)) continue
      lane.missedSinceMs = undefined
      lane.isCatchingUp = lane.place.seq < this.#passed.seq
      if (lane.place.seq < start.seq) start = lane.place
      this.settle(lane)
    }
    this.#readFrom = start
    return start
  }

  /** Whether a lane has not queued this event yet. */
  wants(name: string, seq: number): boolean {
    const lane = this.#lanes.get(name)
    if (lane === undefined) return seq > this.#passed.seq
    return lane.missedSinceMs === undefined && seq > lane.queuedTo
  }

  /** Queues events for a lane. Returns undefined if it is too far behind, so that it misses them. */
  add(name: string, events: readonly QueuedEvent[], nowMs: number): Lane | undefined {
    const lane = this.of(name)
    const isBehind = lane.queue.length > 0
    const isFull = lane.queue.length >= QUEUED_MAX || (isBehind && this.#queued >= ALL_QUEUED_MAX)
    if (isFull) {
      lane.missedSinceMs ??= nowMs
      lane.isCatchingUp = false
      return undefined
    }
    if (!isBehind) lane.waitsSinceMs = nowMs
    for (const event of events) lane.queue.push(event)
    lane.queuedTo = events.at(-1)?.place.seq ?? lane.queuedTo
    return lane
  }

  /** The lane of this name, with a position of its own from now on. */
  of(name: string): Lane {
    const known = this.#lanes.get(name)
    if (known !== undefined) return known
    const lane = new Lane(name, this.#passed)
    this.#lanes.set(name, lane)
    return lane
  }

  /** Everything up to this position was read and queued. */
  pass(place: Watermark): void {
    if (place.seq < this.#passed.seq) return
    this.#passed = place
    for (const lane of this.all) {
      lane.isCatchingUp = false
      this.settle(lane)
    }
  }

  /** A lane that has delivered everything read so far gives up its own position. */
  settle(lane: Lane): void {
    if (!lane.isDone || lane.missedSinceMs !== undefined || lane.isCatchingUp) return
    if (lane.place.seq > this.#passed.seq) return
    if (this.#lanes.get(lane.name) === lane) this.#lanes.delete(lane.name)
  }

  /** The journal was replaced: every lane starts again after this position. */
  rewind(place: Watermark): void {
    this.#passed = place
    this.#readFrom = place
    for (const lane of this.all) {
      // The delivery in progress is of the old journal.
      lane.stop.abort()
      lane.stop = new AbortController()
      lane.queue.length = 0
      lane.block = undefined
      lane.missedSinceMs = undefined
      lane.isCatchingUp = false
      lane.place = place
      lane.queuedTo = place.seq
      this.settle(lane)
    }
  }

  get #queued(): number {
    return this.all.reduce((sum, { queue }) => sum + queue.length, 0)
  }
}

function mustRead({ isDone, missedSinceMs }: Lane): boolean {
  return missedSinceMs !== undefined && isDone
}

/** What the workers of a sink need. */
interface WorkersParts {
  readonly sink: Sink
  readonly lanes: Lanes
  readonly clock: Clock
  readonly timers: Timers
  readonly log: SinkLog
  /** Stores the positions of the lanes. */
  readonly save: () => void
  /** A lane has stopped, or is held now. */
  readonly changed: () => void
}

/**
 * Delivers the queued events. Each lane is delivered on its own, so a failing lane delays no other. A refusal is logged
 * once, retried with back-off and caught up with in order (KS-87).
 */
export class LaneWorkers {
  readonly #parts: WorkersParts
  readonly #skips: Skips
  readonly #working: Set<Promise<void>> = new Set()
  #isEnded = false

  constructor(parts: WorkersParts) {
    this.#parts = parts
    this.#skips = new Skips(parts.sink.name, parts.clock, parts.log)
  }

  /** Starts the delivery of a lane's queue, if it does not run already. */
  start(lane: Lane): void {
    if (lane.hasWorker || this.#isEnded) return
    lane.hasWorker = true
    const working = this.#work(lane).finally(() => this.#working.delete(working))
    this.#working.add(working)
  }

  /** Sends heartbeats to lanes as soon as their queues are empty. A held lane gets none. */
  beat(events: readonly MonitorEvent[]): void {
    const { lanes, sink } = this.#parts
    const beaten = new Set<Lane>()
    for (const event of events) {
      const persona = String(event['persona'] ?? '')
      const lane = lanes.of(sink.laneOf(persona))
      if (lane.block === undefined && lane.missedSinceMs === undefined) lane.beats.set(persona, event)
      beaten.add(lane)
    }
    for (const lane of beaten) this.start(lane)
  }

  /** Ends all deliveries. */
  end(): void {
    this.#isEnded = true
    for (const { stop } of this.#parts.lanes.all) stop.abort()
  }

  /** Ends all deliveries and waits for their end. */
  async close(): Promise<void> {
    this.end()
    await Promise.all(this.#working)
  }

  async #work(lane: Lane): Promise<void> {
    while (!this.#isEnded && (lane.queue.length > 0 || lane.beats.size > 0)) {
      if (lane.queue.length > 0) await this.#deliver(lane)
      else await this.#deliverBeats(lane)
    }
    lane.hasWorker = false
    this.#parts.lanes.settle(lane)
    this.#parts.changed()
  }

  async #deliver(lane: Lane): Promise<void> {
    const { clock, lanes, save, sink } = this.#parts
    const { stop } = lane
    // A held lane retries the refused event alone: otherwise a part of the batch could end the hold too early.
    const batch = lane.queue.slice(0, lane.block === undefined ? sink.batchMax : 1)
    const { taken, failure, skipped } = await this.#hand(
      lane,
      batch.map(({ event }) => event),
    )
    // The journal was replaced meanwhile: the event was one of the old journal.
    if (lane.stop !== stop) return
    if (skipped !== undefined) this.#skips.add({ ...skipped, lane: lane.name })
    if (taken > 0) {
      this.#free(lane, skipped === undefined)
      lane.took(taken, clock.monoMs())
      lanes.settle(lane)
      save()
    }
    const refused = batch[taken]?.event
    if (failure === undefined || refused === undefined) return
    const tries = (lane.block?.tries ?? 0) + 1
    this.#hold(lane, refused, { why: failure, tries, triesMax: Number.POSITIVE_INFINITY })
    await this.#pause(deliveryRetryMs(tries), stop.signal)
  }

  /** Heartbeats are not retried. */
  async #deliverBeats(lane: Lane): Promise<void> {
    const { sink } = this.#parts
    const beats = [...lane.beats]
    for (let from = 0; from < beats.length && !this.#isEnded; from += sink.batchMax) {
      const batch = beats.slice(from, from + sink.batchMax)
      const { failure, skipped } = await this.#hand(
        lane,
        batch.map(([, event]) => event),
      )
      if (skipped !== undefined) this.#skips.add({ ...skipped, lane: lane.name })
      if (failure !== undefined) break
    }
    for (const [persona, event] of beats) if (lane.beats.get(persona) === event) lane.beats.delete(persona)
  }

  async #hand(lane: Lane, events: readonly MonitorEvent[]): Promise<Delivery> {
    const { signal } = lane.stop
    lane.isUnderWay = true
    try {
      return await this.#parts.sink.deliver(lane.name, events, signal, ({ event, ...refusal }) => {
        if (!signal.aborted) this.#hold(lane, event, refusal)
      })
    } catch (error) {
      return { taken: 0, failure: error instanceof Error ? error.message : String(error) }
    } finally {
      lane.isUnderWay = false
    }
  }

  /** The sink refused an event of the lane, which is retried. */
  #hold(
    lane: Lane,
    event: MonitorEvent,
    { tries, triesMax, why }: { readonly tries: number; readonly triesMax: number; readonly why: string },
  ): void {
    const { changed, clock, log, save, sink } = this.#parts
    const isNew = lane.block === undefined
    lane.block = { tries, why, sinceMs: lane.block?.sinceMs ?? clock.monoMs() }
    lane.beats.clear()
    if (!isNew) return
    // Stored with the reason, which kim-producer status prints when no producer runs.
    save()
    const kept =
      'the journal is not affected; the sink retries this event with back-off, then delivers the later ones in order'
    log({
      level: 'warn',
      code: 'sink_failing',
      message: `${sink.name}: ${why}`,
      hint: Number.isFinite(triesMax) ? `${kept}; it skips the event after ${triesMax} tries` : kept,
      ...personaOf(lane.name),
      fields: { sink: sink.name, event_id: event.event_id },
    })
    changed()
  }

  /** The sink has taken or skipped the event that held the lane. */
  #free(lane: Lane, isTaken: boolean): void {
    const { clock, log, sink } = this.#parts
    const { block } = lane
    lane.block = undefined
    if (block === undefined || !isTaken) return
    const seconds = Math.round((clock.monoMs() - block.sinceMs) / 1000)
    log({
      level: 'info',
      code: 'sink_working',
      message: `${sink.name}: delivers events again after ${seconds} s`,
      ...personaOf(lane.name),
      fields: { sink: sink.name, seconds, tries: block.tries },
    })
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    await new Promise<void>(resolve => {
      const end = (): void => {
        cancel()
        resolve()
      }
      const cancel = this.#parts.timers.after(ms, () => {
        signal.removeEventListener('abort', end)
        resolve()
      })
      signal.addEventListener('abort', end, { once: true })
    })
  }
}

/** The lane of a sink without lanes has no name. */
const personaOf = (lane: string): { readonly persona?: string } => (lane === '' ? {} : { persona: lane })

/** A kind of event that is skipped repeatedly is logged at most this often. */
const SAID_MS = 3_600_000

/** Logs skipped events: mail each time, other kinds once an hour (KS-87). */
export class Skips {
  readonly #sink: string
  readonly #clock: Clock
  readonly #log: SinkLog
  readonly #kinds: Map<string, { count: number; saidMs: number }> = new Map()

  constructor(sink: string, clock: Clock, log: SinkLog) {
    this.#sink = sink
    this.#clock = clock
    this.#log = log
  }

  add({ event, lane, tries, why }: NonNullable<Delivery['skipped']> & { readonly lane: string }): void {
    const { event: kind, event_id } = event
    const isMail = deliveryTriesOf(kind) === Number.POSITIVE_INFINITY
    const nowMs = this.#clock.monoMs()
    const { count, saidMs } = this.#kinds.get(kind) ?? { count: 0, saidMs: Number.NEGATIVE_INFINITY }
    const skipped = count + 1
    const isSaid = isMail || nowMs - saidMs >= SAID_MS
    this.#kinds.set(kind, { count: skipped, saidMs: isSaid ? nowMs : saidMs })
    if (!isSaid) return
    const sink = this.#sink
    this.#log({
      level: isMail ? 'error' : 'warn',
      code: 'sink_skipped',
      message: `${sink}: skipped the event ${event_id} after ${tries === 1 ? 'one try' : `${tries} tries`}: ${why}`,
      hint: isMail
        ? 'the journal has the message; correct the command, or use a larger --max-attempts'
        : 'the journal has the event. If the command does not handle this kind of event, let it exit with 0; otherwise correct it: mail waits until it exits with 0, or is skipped after --max-attempts tries',
      ...personaOf(lane),
      fields: { sink, event: kind, event_id, tries, skipped },
    })
  }
}

import { deliveryTriesOf } from '@kim/manifest'
import { deliveryRetryMs, type MonitorEvent } from '@kim/monitor'
import type { Clock, Timers } from '../effects/clock.js'
import type { Lane, Lanes } from './lanes.js'
import type { Delivery, Sink, SinkLog } from './sink.js'

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

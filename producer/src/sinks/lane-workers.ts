import { deliveryRetryMs, type MonitorEvent } from '@kim/observer-sdk'
import type { Clock } from '../effects/clock.js'
import type { Timers } from '../effects/timers.js'
import type { Lane, Lanes } from './lanes.js'
import type { SinkLog } from './log.js'
import type { Delivery, Sink } from './sink.js'
import { failingLine, workingLine } from './sink-lines.js'
import { Skips } from './skips.js'

/** What workers need of the sink they work for. */
export interface WorkersParts {
  readonly sink: Sink
  readonly lanes: Lanes
  readonly clock: Clock
  readonly timers: Timers
  readonly log: SinkLog
  /** Makes durable how far the lanes have come. */
  readonly save: () => void
  /** A lane has stopped, or has begun to be held. */
  readonly changed: () => void
}

/**
 * Delivers what is queued, each lane on its own: what is in the way of one holds no other. A refusal is logged once,
 * tried again with back-off and caught up with in order (KS-87).
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

  /** Delivers what is queued for a lane, unless that is under way. */
  start(lane: Lane): void {
    if (lane.hasWorker || this.#isEnded) return
    lane.hasWorker = true
    const working = this.#work(lane).finally(() => this.#working.delete(working))
    this.#working.add(working)
  }

  /** Gives lanes a sign of life once their queues are empty; one that is held gets none. */
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

  /** Ends what is under way. */
  end(): void {
    this.#isEnded = true
    for (const { stop } of this.#parts.lanes.all) stop.abort()
  }

  /** Ends, and waits until nothing is under way. */
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
    // A lane that is held is tried with the event that was refused, alone: part of a batch would end the trouble too early.
    const batch = lane.queue.slice(0, lane.block === undefined ? sink.batchMax : 1)
    const { taken, failure, skipped } = await this.#hand(
      lane,
      batch.map(({ event }) => event),
    )
    // It was an event of a journal that has been replaced.
    if (lane.stop !== stop) return
    if (skipped !== undefined) this.#skips.add({ ...skipped, lane: lane.name })
    if (taken > 0) {
      this.#free(lane, skipped === undefined)
      lane.took(taken, clock.monoMs())
      // One with nothing left to do has come as far as the sink.
      lanes.settle(lane)
      save()
    }
    const refused = batch[taken]?.event
    if (failure === undefined || refused === undefined) return
    const tries = (lane.block?.tries ?? 0) + 1
    this.#hold(lane, refused, { why: failure, tries, triesMax: Number.POSITIVE_INFINITY })
    await this.#pause(deliveryRetryMs(tries), stop.signal)
  }

  /** Signs of life wait for nothing and are not tried twice. */
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

  /** An event of the lane was refused and is tried again. */
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
    // With why: it is asked for when nothing runs any more.
    save()
    log(failingLine({ sink: sink.name, lane: lane.name }, event.event_id, why, triesMax))
    changed()
  }

  /** What was in the way of the lane is not any more: its event was taken or skipped. */
  #free(lane: Lane, isTaken: boolean): void {
    const { clock, log, sink } = this.#parts
    const { block } = lane
    lane.block = undefined
    if (block === undefined || !isTaken) return
    const seconds = Math.round((clock.monoMs() - block.sinceMs) / 1000)
    log(workingLine({ sink: sink.name, lane: lane.name }, seconds, block.tries))
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

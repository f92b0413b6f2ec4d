import type { Watermark } from '@kim/manifest'
import type { MonitorEvent } from '@kim/observer-sdk'

/** An event on its way to a lane. */
export interface QueuedEvent {
  readonly event: MonitorEvent
  readonly place: Watermark
}

/** Why a lane does not come further. */
export interface Block {
  readonly tries: number
  readonly sinceMs: number
  /** Why the event was refused the last time. */
  readonly why: string
}

/** A lane takes no more events into its queue than this from the batches before the current one. */
const QUEUED_MAX = 100
/** The queues of all lanes hold so many events before lanes that wait already take no more. */
const ALL_QUEUED_MAX = 1000

/** One lane: how far it has come, and which events wait for it. */
export class Lane {
  readonly name: string
  /** It has dealt with everything up to here. */
  place: Watermark
  /** Events that wait for it, in order; the first may be under way. */
  readonly queue: QueuedEvent[] = []
  /** The last event that was queued. */
  queuedTo: number
  /** Since when events were read that it could not queue: it has to read again from its place. Undefined if there are none. */
  missedSinceMs: number | undefined
  /** It reads again what it missed, and has not come to where the sink is. */
  isCatchingUp = false
  /** Since when its first event waits. */
  waitsSinceMs = 0
  block: Block | undefined
  /** A worker is at its queue, or waits to try again. */
  hasWorker = false
  /** The sink has an event of it, or a sign of life. */
  isUnderWay = false
  /** Signs of life by persona, which it is given once its queue is empty. */
  readonly beats: Map<string, MonitorEvent> = new Map()
  /** Ends what is under way; another one after a rewind. */
  stop: AbortController = new AbortController()

  constructor(name: string, place: Watermark) {
    this.name = name
    this.place = place
    this.queuedTo = place.seq
  }

  /** It has dealt with everything that was read for it. */
  get isDone(): boolean {
    return !this.isUnderWay && this.queue.length === 0 && this.beats.size === 0
  }

  /** It took so many events from its queue. */
  took(count: number, nowMs: number): void {
    const last = this.queue.splice(0, count).at(-1)
    if (last !== undefined) this.place = last.place
    this.waitsSinceMs = nowMs
  }
}

/**
 * How far the lanes of a sink have come. A lane without events that wait is where the sink is; the others have a
 * place of their own. A queue is bounded: a lane that is too far behind misses events, and they are read again from
 * its place once its queue is empty.
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

  /** Every lane without a place of its own has dealt with everything up to here. */
  get passed(): Watermark {
    return this.#passed
  }

  /** Where the journal was opened last. */
  get readFrom(): Watermark {
    return this.#readFrom
  }

  /** Lanes with a place of their own. */
  get all(): readonly Lane[] {
    return [...this.#lanes.values()]
  }

  get areBlocked(): boolean {
    return this.all.some(({ block }) => block !== undefined)
  }

  /** True while a lane delivers that nothing is in the way of. */
  get areWorking(): boolean {
    return this.all.some(({ block, isDone }) => !isDone && block === undefined)
  }

  /** True if a lane is ready to read again what it missed, and the journal is not being read for another one. */
  get mustReopen(): boolean {
    return this.all.some(mustRead) && !this.all.some(({ isCatchingUp }) => isCatchingUp)
  }

  /** For how long the event that has waited longest waits. */
  waitMs(nowMs: number): number {
    const waits = this.all.flatMap(({ missedSinceMs, queue, waitsSinceMs }) => [
      ...(queue.length > 0 ? [nowMs - waitsSinceMs] : []),
      ...(missedSinceMs !== undefined && missedSinceMs > 0 ? [nowMs - missedSinceMs] : []),
    ])
    return Math.max(0, ...waits)
  }

  /** Begins to read the journal; the answer is where, so that no lane that is ready misses anything. */
  open(): Watermark {
    // The last reading ended before these had everything.
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

  /** True for an event that a lane does not have yet. */
  wants(name: string, seq: number): boolean {
    const lane = this.#lanes.get(name)
    if (lane === undefined) return seq > this.#passed.seq
    return lane.missedSinceMs === undefined && seq > lane.queuedTo
  }

  /** Queues what was read for a lane; undefined if the lane is too far behind, so that it misses them. */
  add(name: string, parcels: readonly QueuedEvent[], nowMs: number): Lane | undefined {
    const lane = this.of(name)
    const isBehind = lane.queue.length > 0
    const isFull = lane.queue.length >= QUEUED_MAX || (isBehind && this.#queued >= ALL_QUEUED_MAX)
    if (isFull) {
      lane.missedSinceMs ??= nowMs
      lane.isCatchingUp = false
      return undefined
    }
    if (!isBehind) lane.waitsSinceMs = nowMs
    for (const parcel of parcels) lane.queue.push(parcel)
    lane.queuedTo = parcels.at(-1)?.place.seq ?? lane.queuedTo
    return lane
  }

  /** A lane, which has a place of its own from now on. */
  of(name: string): Lane {
    const known = this.#lanes.get(name)
    if (known !== undefined) return known
    const lane = new Lane(name, this.#passed)
    this.#lanes.set(name, lane)
    return lane
  }

  /** Everything up to a place was read and queued. */
  pass(place: Watermark): void {
    if (place.seq < this.#passed.seq) return
    this.#passed = place
    for (const lane of this.all) {
      lane.isCatchingUp = false
      this.settle(lane)
    }
  }

  /** A lane that has dealt with all that was read is where the sink is. */
  settle(lane: Lane): void {
    if (!lane.isDone || lane.missedSinceMs !== undefined || lane.isCatchingUp) return
    if (lane.place.seq > this.#passed.seq) return
    if (this.#lanes.get(lane.name) === lane) this.#lanes.delete(lane.name)
  }

  /** Numbers of before mean nothing any more: everything after this place is new to every lane. */
  rewind(place: Watermark): void {
    this.#passed = place
    this.#readFrom = place
    for (const lane of this.all) {
      // What is under way belongs to a journal that is no more; what is queued from now on comes after its end.
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

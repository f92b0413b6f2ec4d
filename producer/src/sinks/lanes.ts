import type { Watermark } from '@kim/manifest'
import type { MonitorEvent } from '@kim/monitor'

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

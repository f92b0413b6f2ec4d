import type { StoreLocation } from '@kim/cli-kit'
import type { Plan } from '../plan.js'
import { type Due, Every } from './due.js'
import type { End } from './end.js'
import type { Feed } from './feed.js'
import { Heartbeat } from './heartbeat.js'
import type { Printer } from './printer.js'
import { ProducerWatch } from './producer-watch.js'
import type { ReadCursor } from './read-cursor.js'
import { Until } from './until.js'

/** Between two looks at whether the parent is still there: rare enough that idling costs nothing. */
const PARENT_MS = 5_000
/** Between two looks at the producer's sign of life. */
const PRODUCER_MS = 60_000

/** Whom and what a timetable is about. */
export interface TimetableParts {
  readonly plan: Plan
  readonly location: StoreLocation
  readonly printer: Printer
  readonly feed: Feed
  readonly progress: ReadCursor
  /** Whose end is this process's end too, where that is asked for. */
  readonly parent: number
}

/** What is due by the clock while a journal is followed. */
export class Timetable {
  /** Everything that may come to be due. */
  readonly dues: readonly Due[]
  readonly #parts: TimetableParts
  readonly #heartbeat = new Heartbeat()
  readonly #beats: Every | undefined
  readonly #parents: Every | undefined
  readonly #producers: Every | undefined
  readonly #producer: ProducerWatch | undefined
  readonly #until: Until | undefined

  constructor(parts: TimetableParts, nowMs: number) {
    this.#parts = parts
    const { feed, location, plan, printer } = parts
    const { untilMs } = plan.selection
    this.#beats = plan.heartbeatMs === undefined ? undefined : new Every(plan.heartbeatMs, nowMs)
    this.#parents = plan.exitWithParent ? new Every(PARENT_MS, nowMs) : undefined
    this.#producers = plan.mode === 'agent' && plan.follow ? new Every(PRODUCER_MS, nowMs) : undefined
    this.#producer = plan.mode === 'agent' ? new ProducerWatch(location) : undefined
    this.#until = plan.follow && untilMs !== undefined ? new Until(untilMs, () => feed.isDrained) : undefined
    const { gate, stop } = printer
    const dues = [stop, gate, this.#until, this.#beats, this.#parents, this.#producers]
    this.dues = dues.filter(due => due !== undefined)
  }

  /** The producer as it was when it was last looked at. */
  get producer(): ProducerWatch['state'] {
    return this.#producer?.state ?? 'unknown'
  }

  /** Does what is due, and tells of an end that is. */
  keep(nowMs: number, end: (reason: End) => void): void {
    const { feed, parent, plan, printer, progress } = this.#parts
    printer.settleRate(false)
    if (this.#beats?.take(nowMs) === true) this.#heartbeat.beat(plan, feed, printer, progress)
    if (this.#parents?.take(nowMs) === true && process.ppid !== parent) end('parent_gone')
    if (this.#producers?.take(nowMs) === true) this.#producer?.look(printer.report)
    if (feed.isDrained) printer.stop.listen(nowMs)
    const due = printer.stop.due(nowMs)
    if (due !== undefined) end(due)
    if (this.#until?.isOver === true) end('until')
  }
}

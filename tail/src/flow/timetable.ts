/** What is due by the clock while a journal is followed. */
import type { StoreLocation } from '@kim/cli-kit'
import type { Signal, Timers } from '@kim/manifest'
import type { Plan } from '../plan.js'
import { ProducerWatch } from './health.js'
import type { Printer } from './printer.js'
import { type End, TIMER_MS_MAX } from './stop.js'

/** Between two checks that the parent still runs: idling costs next to nothing. */
const PARENT_MS = 5_000
/** Between two looks at the producer's sign of life. */
const PRODUCER_MS = 60_000

/** Something that is due at a time. */
export interface Due {
  /** In the milliseconds of the clock that is used; undefined for never. */
  readonly dueAtMs: number | undefined
}

/** Something that is due at an interval. */
export class Every implements Due {
  readonly #everyMs: number
  readonly #run: () => void
  #nextMs: number

  constructor(everyMs: number, nowMs: number, run: () => void) {
    this.#everyMs = everyMs
    this.#run = run
    this.#nextMs = nowMs + everyMs
  }

  get dueAtMs(): number {
    return this.#nextMs
  }

  /** Runs it if it is due; the next time is a whole interval later. */
  keep(nowMs: number): void {
    if (nowMs < this.#nextMs) return
    this.#nextMs = nowMs + this.#everyMs
    this.#run()
  }
}

/** The event loop's timers. */
const timers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, Math.min(ms, TIMER_MS_MAX))
    return () => clearTimeout(timer)
  },
}

/** Sleeps until the signal is raised or something is due. No timer runs while nothing is due. */
export async function sleepUntilDue(
  signal: Signal,
  dues: readonly Due[],
  nowMs: () => number,
): Promise<void> {
  const times = dues.flatMap(({ dueAtMs }) => (dueAtMs === undefined ? [] : [dueAtMs]))
  await signal.sleep(times.length === 0 ? undefined : Math.min(...times) - nowMs(), timers)
}

/** What a timetable acts on. */
export interface TimetableParts {
  readonly plan: Plan
  readonly location: StoreLocation
  readonly printer: Printer
  /** Whose end is this process's end too, with `--exit-with-parent`. */
  readonly parent: number
  /** True once all existing records were handed over: before, neither silence nor the end of a span of time counts. */
  readonly isDrained: () => boolean
  readonly beat: () => void
  readonly end: (reason: End) => void
}

/** Everything that is due by the clock for one command. */
export class Timetable {
  /** The producer's state when it was last looked at. */
  readonly producer: ProducerWatch | undefined
  readonly #parts: TimetableParts
  readonly #regular: readonly Every[]
  readonly #dues: readonly Due[]
  /** When the time of `--until` has passed, in milliseconds since 1970. */
  readonly #untilMs: number | undefined

  constructor(parts: TimetableParts) {
    this.#parts = parts
    const { beat, end, isDrained, location, parent, plan, printer } = parts
    const isAgent = plan.mode === 'agent'
    this.producer = isAgent ? new ProducerWatch(location) : undefined
    const onParent = (): void => {
      if (process.ppid !== parent) end('parent_gone')
    }
    const nowMs = performance.now()
    const every = (ms: number | undefined, run: () => void): readonly Every[] =>
      ms === undefined ? [] : [new Every(ms, nowMs, run)]
    this.#regular = [
      ...every(plan.heartbeatMs, beat),
      ...every(plan.exitWithParent ? PARENT_MS : undefined, onParent),
      ...every(isAgent && plan.follow ? PRODUCER_MS : undefined, () => this.producer?.look(printer.report)),
    ]
    const untilMs = plan.follow ? plan.selection.untilMs : undefined
    this.#untilMs = untilMs
    const until: Due = {
      get dueAtMs() {
        if (untilMs === undefined || !isDrained()) return undefined
        return performance.now() + Math.max(0, untilMs - Date.now() + 1)
      },
    }
    this.#dues = [printer.stop, ...(printer.gate ? [printer.gate] : []), until, ...this.#regular]
  }

  /** Sleeps until the signal is raised or something is due. */
  sleep(signal: Signal): Promise<void> {
    return sleepUntilDue(signal, this.#dues, () => performance.now())
  }

  /** Does what is due, and ends the command if that is. */
  keep(): void {
    const { end, isDrained, printer } = this.#parts
    const nowMs = performance.now()
    printer.settleRate(false)
    for (const every of this.#regular) every.keep(nowMs)
    if (isDrained()) printer.stop.listen(nowMs)
    const due = printer.stop.due(nowMs)
    if (due !== undefined) end(due)
    if (this.#untilMs !== undefined && isDrained() && Date.now() > this.#untilMs) end('until')
  }
}

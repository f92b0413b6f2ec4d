import type { Watermark } from '@kim/manifest'
import type { MonitorEvent } from '@kim/observer-sdk'
import { everyEnd } from '../effects/every-step.js'
import type { Disk } from '../journal/file-ops.js'
import { Heartbeats, type Watched } from './heartbeats.js'
import type { Sink } from './sink.js'
import { SinkRunner, type SinkSurroundings } from './sink-runner.js'
import { type SinkStatus, sinkKind } from './sink-status.js'
import { type SinkState, WatermarkFile } from './watermark-file.js'

/** A sink that was asked for; it is made once it is known which names it gave out before. */
export interface SinkPlan {
  /** What its watermark is kept under, besides the journal: the same words, the same sink. */
  readonly identity: string
  /** Turns what an earlier version noted into what this one goes on from. */
  adopt?(progress: SinkState): SinkState
  /** `refused`: lanes in whose way something stood when its last process ended. */
  make(names: readonly (readonly [persona: string, name: string])[], refused: ReadonlySet<string>): Sink
}

/** What all sinks of one process are opened with. */
export interface SinksParts {
  readonly plans: readonly SinkPlan[]
  readonly around: SinkSurroundings
  /** Where watermarks are kept. */
  readonly ledgerDir: string
  readonly projectId: string
  readonly disk: Disk
  /** Where a sink begins that never began. */
  readonly head: Watermark
  /** Undefined for no signs of life. */
  readonly heartbeatMs: number | undefined
  readonly watched: () => readonly Watched[]
}

/** How long an end waits for what is on its way. */
const LAST_MS = 500
const LOOK_MS = 10

/** The sinks of one process. */
export class Sinks {
  readonly #parts: SinksParts
  readonly #runners: readonly SinkRunner[]
  readonly #identities: Map<SinkRunner, string> = new Map()
  readonly #off: SinkStatus[] = []
  readonly #heartbeats: Heartbeats | undefined

  /** Takes the head for those that never began, and makes that durable, before it returns (KS-73). */
  constructor(parts: SinksParts) {
    this.#parts = parts
    this.#runners = parts.plans.flatMap(plan => this.#open(plan))
    const { heartbeatMs, around, watched } = parts
    this.#heartbeats =
      heartbeatMs === undefined || this.#runners.length === 0
        ? undefined
        : new Heartbeats(heartbeatMs, around.timers, watched, events => this.#beat(events))
  }

  /** How each of them is. */
  status(): readonly SinkStatus[] {
    const working = [...this.#identities].map(([runner, identity]) => runner.status(identity))
    return [...working, ...this.#off]
  }

  start(): void {
    for (const runner of this.#runners) runner.start()
    this.#heartbeats?.start()
  }

  /** Lets what is on its way arrive, for a moment, and ends. */
  async close(): Promise<void> {
    this.#heartbeats?.stop()
    const { around } = this.#parts
    const untilMs = around.clock.monoMs() + LAST_MS
    const isOnItsWay = (): boolean =>
      this.#runners.some(runner => !runner.isThrough(around.durableSeq() ?? 0))
    while (isOnItsWay() && around.clock.monoMs() < untilMs) {
      await new Promise<void>(resolve => void around.timers.after(LOOK_MS, resolve))
    }
    await everyEnd(this.#runners.map(runner => runner.close()))
  }

  #beat(events: readonly MonitorEvent[]): void {
    for (const runner of this.#runners) runner.beat(events)
  }

  /** A sink whose watermark cannot be read delivers nothing: beginning at the head would pass over mail. */
  #open({ adopt = progress => progress, identity, make }: SinkPlan): readonly SinkRunner[] {
    const { around, disk, head, ledgerDir, projectId } = this.#parts
    const watermarkFile = new WatermarkFile(ledgerDir, projectId, identity, disk)
    try {
      const known = watermarkFile.load()
      const progress = adopt(known ?? { passed: head, held: [], names: [] })
      const refused = new Set(progress.held.flatMap(([lane, , why]) => (why === undefined ? [] : [lane])))
      const runner = new SinkRunner(make(progress.names, refused), around, {
        watermarkFile,
        progress,
        isNew: known === undefined,
      })
      this.#identities.set(runner, identity)
      return [runner]
    } catch (error) {
      const [message, hint] =
        error instanceof Error ? [error.message, hintOf(error)] : [String(error), undefined]
      this.#off.push(offStatus(identity, message))
      around.log({ level: 'error', code: 'sink_off', message: `${identity}: ${message}`, ...hint })
      return []
    }
  }
}

function offStatus(identity: string, why: string): SinkStatus {
  const nothing = { seq: null, behind: null, lag_ms: 0, gaps: {}, skipped: {}, held: 0, lanes: [] }
  return { sink: sinkKind(identity), identity, state: 'off', why, ...nothing }
}

function hintOf(error: Error): { readonly hint: string } | undefined {
  return 'hint' in error && typeof error.hint === 'string' ? { hint: error.hint } : undefined
}

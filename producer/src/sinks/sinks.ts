import { randomBytes } from 'node:crypto'
import { KimError, type Watermark } from '@kim/manifest'
import { heartbeatEvent, type MonitorEvent, readHostClocks } from '@kim/monitor'
import { everyEnd } from '../effects/every-step.js'
import type { Disk } from '../journal/file-ops.js'
import { type Sink, type SinkStatus, sinkKind } from './sink.js'
import { SinkRunner, type SinkSurroundings } from './sink-runner.js'
import { type SinkState, WatermarkFile } from './watermark-file.js'

/** A configured sink. It is created once its watermark file is read, which holds the file names it gave out before. */
export interface SinkPlan {
  /** The watermark is stored under this identity and the journal's. */
  readonly identity: string
  /** Converts the watermark of an earlier version. */
  adopt?(progress: SinkState): SinkState
  /** `refused` are lanes that were held when the last process ended. */
  make(names: readonly (readonly [persona: string, name: string])[], refused: ReadonlySet<string>): Sink
}

/** What the sinks of one process are opened with. */
export interface SinksParts {
  readonly plans: readonly SinkPlan[]
  readonly around: SinkSurroundings
  /** The directory of the watermarks. */
  readonly ledgerDir: string
  readonly projectId: string
  readonly disk: Disk
  /** A new sink begins here. */
  readonly head: Watermark
  /** Undefined for no heartbeats. */
  readonly heartbeatMs: number | undefined
  readonly watched: () => readonly Watched[]
}

/** How long `close` waits for deliveries. */
const LAST_MS = 500
const LOOK_MS = 10

/** The sinks of one process. */
export class Sinks {
  readonly #parts: SinksParts
  readonly #runners: readonly SinkRunner[]
  readonly #identities: Map<SinkRunner, string> = new Map()
  readonly #off: SinkStatus[] = []
  /** Part of the id of each heartbeat, so that no two processes make the same id. */
  readonly #process = randomBytes(8).toString('hex')
  #heartbeats = 0
  #stopHeartbeats: () => void = () => undefined

  /** Before it returns, it stores the head as the watermark of new sinks (KS-73). */
  constructor(parts: SinksParts) {
    this.#parts = parts
    this.#runners = parts.plans.flatMap(plan => this.#open(plan))
  }

  status(): readonly SinkStatus[] {
    const working = [...this.#identities].map(([runner, identity]) => runner.status(identity))
    return [...working, ...this.#off]
  }

  start(): void {
    for (const runner of this.#runners) runner.start()
    const { heartbeatMs } = this.#parts
    if (heartbeatMs !== undefined && this.#runners.length > 0) this.#beatAfter(heartbeatMs)
  }

  /** Waits a moment for deliveries in progress, then ends. */
  async close(): Promise<void> {
    this.#stopHeartbeats()
    const { around } = this.#parts
    const untilMs = around.clock.monoMs() + LAST_MS
    const isDelivering = (): boolean =>
      this.#runners.some(runner => !runner.isThrough(around.durableSeq() ?? 0))
    while (isDelivering() && around.clock.monoMs() < untilMs) {
      await new Promise<void>(resolve => void around.timers.after(LOOK_MS, resolve))
    }
    await everyEnd(this.#runners.map(runner => runner.close()))
  }

  #beatAfter(ms: number): void {
    const { around, watched } = this.#parts
    this.#stopHeartbeats = around.timers.after(ms, () => {
      const events = watched().map(one => this.#heartbeat(one))
      for (const runner of this.#runners) runner.beat(events)
      this.#beatAfter(ms)
    })
  }

  /** The only kind of event without a record. */
  #heartbeat({ persona, cursor }: Watched): MonitorEvent {
    const number = ++this.#heartbeats
    const id = `${persona}:heartbeat:${this.#process}-${number}`
    return heartbeatEvent(persona, cursor, id, readHostClocks(number), process.platform)
  }

  /** A sink whose watermark cannot be read delivers nothing: to begin at the head would skip mail. */
  #open({ adopt = progress => progress, identity, make }: SinkPlan): readonly SinkRunner[] {
    const { around, disk, head, ledgerDir, projectId } = this.#parts
    const watermarkFile = new WatermarkFile(ledgerDir, projectId, identity, disk)
    try {
      const known = watermarkFile.load()
      const progress = adopt(known ?? { passed: head, held: [], names: [] })
      const refused = new Set(progress.held.flatMap(([lane, , why]) => (why === undefined ? [] : [lane])))
      const sink = make(progress.names, refused)
      const runner = new SinkRunner(sink, around, watermarkFile, progress, known === undefined)
      this.#identities.set(runner, identity)
      return [runner]
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      const nothing = { seq: null, behind: null, lag_ms: 0, gaps: {}, skipped: {}, held: 0, lanes: [] }
      this.#off.push({ sink: sinkKind(identity), identity, state: 'off', why, ...nothing })
      const hint = error instanceof KimError ? { hint: error.hint } : {}
      around.log({ level: 'error', code: 'sink_off', message: `${identity}: ${why}`, ...hint })
      return []
    }
  }
}

/** A watched persona and its cursor, which is undefined before its first healthy poll. */
export interface Watched {
  readonly persona: string
  readonly cursor: number | undefined
}

/** The service: the driver, the files and the socket that tell others how it is, and its end. */
import { KimError, storePaths } from '@kim/manifest'
import type { ControlServer } from '../control/server.js'
import { type ControlVerbs, journalCare } from '../control/verbs.js'
import { listOf } from '../core/alerts.js'
import type { Core } from '../core/core.js'
import {
  type Clock,
  currentHost,
  type Host,
  loopTimers,
  loopTurn,
  systemClock,
  type Timers,
  type Turn,
} from '../effects/system.js'
import { toFailure } from '../journal/disk-errors.js'
import type { Draft } from '../journal/draft.js'
import type { OpenJournal } from '../journal/journal.js'
import { journalNote } from '../journal/notes.js'
import type { SinkStatus } from '../sinks/sink.js'
import type { Source } from '../source/source.js'
import { Driver, type Ending } from './main-loop.js'
import { Meters, metricsText } from './metrics.js'
import type { RunLog } from './run-log.js'
import { JournalSize, type ProducerStatus, personaLine, StatusFile } from './status.js'
import type { Supervisor } from './systemd-notify.js'

/** What of a service a test can replace. */
interface ProducerEffects {
  readonly meters: Meters
  readonly clock: Clock
  readonly timers: Timers
  readonly turn: Turn
  readonly host: Host
}

/** What a service is made of. */
export interface ProducerParts extends Partial<ProducerEffects> {
  readonly storeDir: string
  readonly version: string
  readonly journal: OpenJournal
  readonly source: Source
  readonly core: Core
  readonly log: RunLog
  /** How the sinks are; undefined: there are none. */
  readonly sinks?: (() => readonly SinkStatus[]) | undefined
  readonly supervisor?: Supervisor | undefined
  /** How the control socket is opened; undefined: there is none. */
  readonly openControl?: OpenControl | undefined
  /** Comes first of all at an end, before any step of it. */
  readonly onEnd?: ((ending: Ending) => void) | undefined
  /** What is to come to its end while the store is still ours. */
  readonly finish?: (() => Promise<void>) | undefined
}

/** How often `run/health.json` and `run/metrics.prom` are replaced. */
const HEALTH_MS = 10_000

/** A producer at work: the driver, and what tells others how it is. */
export class Producer {
  readonly #parts: ProducerParts & ProducerEffects
  readonly #driver: Driver
  readonly #control: ControlSocket | undefined
  readonly #health: StatusFile
  readonly #metrics: StatusFile
  readonly #size: JournalSize
  readonly #started: string
  #stopBeat: () => void = () => undefined
  #turnsSeen = 0

  constructor(parts: ProducerParts) {
    const effects = { clock: systemClock, timers: loopTimers, turn: loopTurn, host: currentHost() }
    this.#parts = { ...effects, meters: new Meters(), ...parts }
    const { clock, host } = this.#parts
    this.#started = new Date(clock.wallMs()).toISOString()
    const paths = storePaths(parts.storeDir)
    this.#health = new StatusFile(paths.health, host.uid)
    this.#metrics = new StatusFile(paths.metrics, host.uid)
    this.#size = new JournalSize(paths)
    const opening = startedNote(parts.version, host)
    this.#driver = new Driver({ ...this.#parts, opening, closing: stoppedNote })
    this.#control =
      parts.openControl === undefined
        ? undefined
        : new ControlSocket(parts.openControl, this.#verbs(), parts.log)
  }

  /** Runs to the end. The journal is closed and nothing is under way any more when it settles. */
  async run(): Promise<Ending> {
    await this.#control?.open()
    this.#beat()
    this.#driver.wake()
    // After the first turn: by then the journal has the opening note, and the core knows which inboxes it watches.
    this.#parts.turn.soon(() => {
      this.#say()
      this.#parts.supervisor?.ready(`${this.#parts.source.base} → ${this.#parts.storeDir}`)
    })
    const ending = await this.#driver.ended
    this.#parts.onEnd?.(ending)
    return await this.#shutDown(new Shutdown(ending, this.#parts.log))
  }

  async #shutDown(shutdown: Shutdown): Promise<Ending> {
    const { journal, source, supervisor, finish } = this.#parts
    await shutdown.step('tell the supervisor', () => supervisor?.stopping())
    this.#stopBeat()
    await shutdown.step('close the control socket', () => this.#control?.close())
    await shutdown.step('close the sinks', () => finish?.())
    // While the store is still ours: the next producer's file is not to be overwritten.
    await shutdown.step('write the last status', () => {
      this.#tell({ ...this.status(), state: 'stopped', reason: reasonOf(shutdown.ending) })
    })
    await shutdown.step('close the connections', () => source.close())
    await shutdown.step('close the journal', () => journal.close())
    return shutdown.ending
  }

  /** A clean end; nothing happens at a second one. */
  stop(reason: string): void {
    this.#driver.stop(reason)
  }

  /** Makes one persona due, or all of them; says how many are. */
  poke(persona?: string): number {
    return this.#driver.poke(persona)
  }

  /** Reads the token file again. */
  reload(): void {
    const { source, log } = this.#parts
    const changed = source.reloadToken()
    if (changed === undefined) return
    const { tokenFrom = 'no file' } = source
    log({
      level: 'info',
      code: 'token_read',
      message: changed ? `read a new token from ${tokenFrom}` : `the token from ${tokenFrom} did not change`,
    })
    if (changed) this.poke()
  }

  status(): ProducerStatus {
    const { clock, journal, source, core, host, storeDir, version, sinks } = this.#parts
    const now = { monoMs: clock.monoMs(), wallMs: clock.wallMs() }
    const { personas, counts, polls, failures, asked, genesis } = core.status()
    return {
      schema_version: 1,
      state: 'running',
      version,
      pid: host.pid,
      start_key: host.startKey,
      started: this.#started,
      updated: new Date(now.wallMs).toISOString(),
      interval_ms: HEALTH_MS,
      store: storeDir,
      source: source.base,
      dialect: source.dialect,
      project_id: journal.projectId,
      head_seq: journal.head.seq,
      disk: this.#driver.isDiskFull ? 'full' : 'ok',
      counts,
      registry_genesis: genesis,
      polls,
      failures,
      requests: asked,
      personas: personas.map(persona => personaLine(persona, now)),
      sinks: sinks?.() ?? [],
    }
  }

  #beat(): void {
    this.#tell(this.status())
    const { turns } = this.#driver
    if (turns !== this.#turnsSeen) this.#parts.supervisor?.alive(this.#parts.clock.monoMs())
    this.#turnsSeen = turns
    this.#stopBeat = this.#parts.timers.after(HEALTH_MS, () => {
      this.#driver.wake()
      void this.#control?.open()
      this.#beat()
    })
  }

  /** What the control socket can ask for. */
  #verbs(): ControlVerbs {
    const { journal, turn } = this.#parts
    const care = journalCare(journal, turn)
    return {
      headSeq: care.headSeq,
      poke: persona => this.poke(persona),
      status: () => ({ ...this.status() }),
      checkpoint: () => this.#settled(care.checkpoint),
      gc: dryRun => this.#settled(() => care.gc(dryRun)),
      shutdown: () => this.stop('shutdown'),
    }
  }

  /**
   * Care of the journal waits until a full disk is over: the core must learn first what a refused append left in the
   * journal. Afterwards the loop takes a turn at once, whatever happened to the journal.
   */
  async #settled<T>(care: () => Promise<T>): Promise<T> {
    if (!this.#parts.journal.isSettled) throw new KimError('store_full', 'cannot append: the disk is full')
    try {
      return await care()
    } finally {
      this.#driver.wake()
    }
  }

  #tell(status: ProducerStatus): void {
    const { user, system } = process.cpuUsage()
    const residentBytes = process.memoryUsage.rss()
    const measured = { meters: this.#parts.meters, room: this.#size.look(), residentBytes }
    this.#health.replace(`${JSON.stringify(status)}\n`)
    this.#metrics.replace(metricsText(status, { ...measured, cpuSeconds: (user + system) / 1e6 }))
  }

  #say(): void {
    const { version, pid, store, source, dialect, head_seq, personas } = this.status()
    const names = personas.map(({ persona }) => persona)
    this.#parts.log({
      level: 'info',
      code: 'started',
      message: `kim ${version} writes ${store} from ${source}; it watches ${listOf(names) || 'no inbox yet'}`,
      fields: { version, pid, store, source, dialect, head_seq, personas: personas.length },
    })
  }
}

function reasonOf(ending: Ending): string {
  if (ending.kind === 'stopped') return ending.reason
  if (ending.kind === 'verdict') return ending.verdict.code
  return ending.error instanceof Error ? ending.error.message : String(ending.error)
}

/** Opens a control socket for these verbs; rejects if that fails. */
type OpenControl = (verbs: ControlVerbs) => Promise<Pick<ControlServer, 'close'>>

/**
 * The control socket of a service. Mail is worth more than commands: without a socket the service goes on, logs that
 * once, and tries again at each call of `open`.
 */
class ControlSocket {
  readonly #open: OpenControl
  readonly #verbs: ControlVerbs
  readonly #log: RunLog
  #server: Pick<ControlServer, 'close'> | undefined
  #isOpening = false
  #isClosed = false
  #isMissing = false

  constructor(open: OpenControl, verbs: ControlVerbs, log: RunLog) {
    this.#open = open
    this.#verbs = verbs
    this.#log = log
  }

  /** Opens it if it is not open. Never rejects. */
  async open(): Promise<void> {
    if (this.#server !== undefined || this.#isOpening || this.#isClosed) return
    this.#isOpening = true
    try {
      const server = await this.#open(this.#verbs)
      if (this.#isClosed) server.close()
      else this.#server = server
      if (this.#isMissing)
        this.#log({ level: 'info', code: 'control_open', message: 'opened the control socket' })
      this.#isMissing = false
    } catch (error) {
      this.#missing(error)
    } finally {
      this.#isOpening = false
    }
  }

  /** Closes it for good. */
  close(): void {
    this.#isClosed = true
    this.#server?.close()
  }

  #missing(error: unknown): void {
    if (this.#isMissing) return
    this.#isMissing = true
    this.#log({
      level: 'warn',
      code: 'control_missing',
      message: `no control socket, so poke, shutdown, journal checkpoint and journal gc cannot reach this producer: ${error instanceof Error ? error.message : error}; mail is recorded as usual, and it tries again every ${HEALTH_MS / 1000} s. To stop it: kill ${process.pid}`,
      ...(error instanceof KimError ? { hint: error.hint } : {}),
    })
  }
}

/**
 * The steps of an end. Each is taken, also after one that failed: no fault may leave a process that holds the store and
 * does nothing. The first fault is the reason of the end; later ones are logged as warnings (CL-14).
 */
class Shutdown {
  readonly #log: RunLog
  #ending: Ending

  constructor(ending: Ending, log: RunLog) {
    this.#ending = ending
    this.#log = log
  }

  /** How it ended: a clean stop whose steps failed is none. */
  get ending(): Ending {
    return this.#ending
  }

  /** Takes a step; `doing` says which, as in "cannot …". */
  async step(doing: string, act: () => void | Promise<void>): Promise<void> {
    try {
      await act()
    } catch (cause) {
      const error = toFailure(cause, doing)
      if (this.#ending.kind === 'stopped') this.#ending = { kind: 'failed', error }
      else this.#say(doing, error)
    }
  }

  #say(doing: string, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error)
    this.#log({
      level: 'warn',
      code: 'shutdown_step_failed',
      message: error instanceof KimError ? why : `cannot ${doing}: ${why}`,
      hint: 'the process ends all the same; the last line of the log says what failed first',
    })
  }
}

/** Says in the journal that a producer began to append. */
export function startedNote(version: string, host: Host): Draft {
  const { pid, node, platform } = host
  return journalNote('producer_started', { version, pid, node, platform }, `kim ${version} began to append`)
}

/** Says in the journal that it stopped of its own will. */
export function stoppedNote(reason: string): Draft {
  return journalNote('producer_stopped', { reason }, `stopped: ${reason}`)
}

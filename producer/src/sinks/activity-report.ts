import { basename, dirname, join } from 'node:path'
import { alertFacts, isCount, type JsonObject, nextTurn, Signal, tempName } from '@kim/manifest'
import { memoryCursors, type Observer, openObserver } from '@kim/observer-sdk'
import type { Clock, Timers } from '../effects/system.js'
import type { Disk } from '../journal/file-ops.js'
import type { SinkLog } from './sink.js'

interface ActivityParts {
  readonly path: string
  readonly eventsDir: string
  readonly disk: Disk
  readonly clock: Clock
  readonly timers: Timers
  readonly log: SinkLog
}

interface Authored {
  readonly id: number
  readonly created: string | null
}

/** The file is replaced at most and at least this often. */
const WRITE_MS_MIN = 1000
const WRITE_MS_MAX = 60_000
/** The number of messages read before other work gets a turn. */
const SLICE = 200

/**
 * `--activity-file`: who wrote last. Only messages count, because other personas can cause read states and presence
 * (KS-71). Nothing relies on the file.
 */
export class ActivityReport {
  readonly #parts: ActivityParts
  readonly #signal = new Signal()
  readonly #since: string
  readonly #authored: Map<string, Authored> = new Map()
  #observer: Observer | undefined
  #running: Promise<void> | undefined
  #isEnded = false
  #isDirty = true
  #isFailing = false

  constructor(parts: ActivityParts) {
    this.#parts = parts
    this.#since = new Date(parts.clock.wallMs()).toISOString()
  }

  start(): void {
    this.#running ??= this.#run().catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error)
      this.#parts.log({
        level: 'error',
        code: 'activity_off',
        message: `the report of --activity-file stopped: ${why}`,
        hint: 'mail and sinks are not affected; the report begins again at the next start of the producer',
      })
    })
  }

  async close(): Promise<void> {
    this.#isEnded = true
    this.#signal.raise()
    await this.#observer?.close()
    await this.#running
  }

  async #run(): Promise<void> {
    const { eventsDir, clock } = this.#parts
    const observer = await openObserver({ eventsDir, cursors: memoryCursors() })
    this.#observer = observer
    if (this.#isEnded) await observer.close()
    const following = this.#follow(observer)
    await this.#readState(observer)
    let writtenMs = Number.NEGATIVE_INFINITY
    while (!this.#isEnded) {
      const sinceMs = clock.monoMs() - writtenMs
      if (sinceMs >= (this.#isDirty ? WRITE_MS_MIN : WRITE_MS_MAX)) {
        this.#write(observer)
        writtenMs = clock.monoMs()
      }
      const restMs = (this.#isDirty ? WRITE_MS_MIN : WRITE_MS_MAX) - (clock.monoMs() - writtenMs)
      await this.#signal.sleep(Math.max(1, restMs), this.#parts.timers)
    }
    await following
  }

  async #follow(observer: Observer): Promise<void> {
    for await (const { records } of observer.changes()) {
      for (const { item_type, payload } of records) if (item_type === 'message') this.#saw(payload)
      this.#isDirty = true
      this.#signal.raise()
    }
  }

  async #readState(observer: Observer): Promise<void> {
    let count = 0
    for (const { payload } of observer.state.values('message')) {
      this.#saw(payload)
      if (++count % SLICE !== 0) continue
      await nextTurn()
      if (this.#isEnded) return
    }
  }

  #saw(payload: JsonObject | undefined): void {
    const { from, id, created } = payload ?? {}
    if (typeof from !== 'string' || !isCount(id) || id <= (this.#authored.get(from)?.id ?? 0)) return
    this.#authored.set(from, { id, created: typeof created === 'string' ? created : null })
  }

  #write(observer: Observer): void {
    const { path, disk, clock, log } = this.#parts
    const report = {
      observed_since: this.#since,
      observation_floor_id: floorOf(observer),
      updated: new Date(clock.wallMs()).toISOString(),
      last_authored: Object.fromEntries(this.#authored),
      urgent_unread: Object.fromEntries(urgentIn(observer)),
    }
    this.#isDirty = false
    try {
      disk.makeDirectories(dirname(path))
      const temp = join(dirname(path), tempName(basename(path)))
      disk.writeLoosely(temp, path, Buffer.from(`${JSON.stringify(report)}\n`))
      if (this.#isFailing)
        log({ level: 'info', code: 'activity_written', message: `can write ${path} again` })
      this.#isFailing = false
    } catch (error) {
      this.#isDirty = true
      const why = error instanceof Error ? error.message : String(error)
      const message = `--activity-file: ${why}`
      const hint = 'mail and sinks are not affected; the producer retries every second'
      if (!this.#isFailing) log({ level: 'warn', code: 'activity_unwritten', message, hint })
      this.#isFailing = true
    }
  }
}

/** The lowest id from which on every message of every inbox is known; null if there is none. */
function floorOf({ state }: Observer): number | null {
  let floor: number | null = null
  for (const { payload } of state.values('alert')) {
    // A gap hides who wrote.
    if (alertFacts(payload).is_gap && payload?.['status'] === 'open') return null
  }
  for (const { payload } of state.values('persona')) {
    const own = payload?.['floor']
    const known = payload?.['known_from']
    if (isCount(own)) floor = Math.max(floor ?? 0, own, isCount(known) ? known : 0)
  }
  return floor
}

function* urgentIn({ state }: Observer): Generator<readonly [persona: string, count: number]> {
  for (const { itemId, payload } of state.values('persona')) {
    const count = payload?.['unread_urgent']
    if (isCount(count) && count > 0) yield [itemId, count]
  }
}

/** Whether the producer is up, as far as a reader of its store can know. */
import { fstatSync } from 'node:fs'
import { isProcessAlive, type StoreLocation } from '@kim/cli-kit'
import { isJsonObject, type JsonObject, storePaths } from '@kim/manifest'
import { closeFile, openRegularFile, readAt } from '@kim/observer-sdk/history'
import type { Reporter } from './reporter.js'

/** What `run/health.json` says about the producer. */
export interface ProducerState {
  readonly state: 'up' | 'stale' | 'down' | 'unknown'
  /** Its last sign of life, in milliseconds since 1970. */
  readonly seenMs: number | undefined
  /** Why this is believed. */
  readonly evidence: string
}

/** How often the file is written, unless it contains an interval. */
const INTERVAL_MS = 10_000
/** Intervals without a new one before the file counts as old. */
const INTERVALS = 3
/** Longest interval that is believed: with a longer one, a producer would never be stale. */
const INTERVAL_MS_MAX = 3_600_000
/** Bytes of the file that are read: enough for two thousand inboxes with the longest names. */
const HEALTH_BYTES_MAX = 16 * 1024 ** 2

/** The producer's state by `run/health.json`, which the producer writes at an interval of its own. */
export function producerState(location: StoreLocation, nowMs: number = Date.now()): ProducerState {
  if (location.storeDir === undefined)
    return unknown('the state of the producer is in the store: use --store')
  const opened = openRegularFile(storePaths(location.storeDir).health)
  const none = unknown('run/health.json is missing or cannot be read')
  if (!opened.ok) return none
  const file = opened.value
  try {
    if (file.size > HEALTH_BYTES_MAX) return none
    const bytes = Buffer.alloc(file.size)
    const text = bytes.toString('utf8', 0, readAt(file, bytes, 0, file.size, 0))
    const value: unknown = JSON.parse(text)
    if (!isJsonObject(value)) return none
    return judgeHealth(value, fstatSync(file.fd).mtimeMs, nowMs, isProcessAlive)
  } catch {
    return none
  } finally {
    closeFile(file)
  }
}

/** The judgement itself, from what the file holds. */
export function judgeHealth(
  health: JsonObject,
  writtenMs: number,
  nowMs: number,
  alive: (pid: number) => boolean,
): ProducerState {
  const stated = health['interval_ms']
  const interval = typeof stated === 'number' && stated > 0 ? Math.min(stated, INTERVAL_MS_MAX) : INTERVAL_MS
  // A sign of life from the future does not count: until that time, it would hide that the producer has ended.
  const signs = [writtenMs, timeIn(health['updated']) ?? 0].filter(ms => ms <= nowMs + interval)
  const seenMs = Math.max(0, ...signs)
  const said = health['state'] ?? health['status']
  if (said === 'stopped' || said === 'down')
    return { state: 'down', seenMs, evidence: 'run/health.json says that it stopped' }
  const pid = health['pid']
  const isFresh = nowMs - seenMs <= interval * INTERVALS
  if (typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0 && !alive(pid)) {
    const orElsewhere = isFresh
      ? ' here, although run/health.json is fresh: it ended just now, or runs in another container or on another host'
      : ''
    return { state: 'down', seenMs, evidence: `its process ${pid} no longer runs${orElsewhere}` }
  }
  if (isFresh) return { state: 'up', seenMs, evidence: 'run/health.json was written' }
  const evidence =
    'run/health.json is old: the producer hangs or was killed; see: kim-producer status (with the same --store)'
  return { state: 'stale', seenMs, evidence }
}

/** Reports when the producer goes down or comes up again, each once. */
export class ProducerWatch {
  readonly #location: StoreLocation
  #state: ProducerState['state']

  constructor(location: StoreLocation) {
    this.#location = location
    this.#state = producerState(location).state
  }

  /** When it was last looked at. */
  get state(): ProducerState['state'] {
    return this.#state
  }

  /** Looks again. */
  look(report: Reporter): void {
    const { state, seenMs } = producerState(this.#location)
    const before = this.#state
    this.#state = state
    const since = seenMs === undefined ? undefined : new Date(seenMs).toISOString()
    if (before === 'up' && (state === 'down' || state === 'stale')) report.producer('down', since)
    if (before !== 'up' && state === 'up') report.producer('up', since)
  }
}

function unknown(evidence: string): ProducerState {
  return { state: 'unknown', seenMs: undefined, evidence }
}

function timeIn(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

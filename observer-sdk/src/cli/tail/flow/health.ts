import { readFileSync, statSync } from 'node:fs'
import { isJsonObject, type JsonObject, storePaths } from '@kim/manifest'
import type { StoreLocation } from '../store-location.js'

/** What can be told about the producer from the outside. */
export interface ProducerState {
  readonly state: 'up' | 'stale' | 'down' | 'unknown'
  /** When it last gave a sign of life, in milliseconds since 1970. */
  readonly seenMs: number | undefined
  /** Why this is believed. */
  readonly evidence: string
}

/** How often the file is written where it does not say so itself. */
const INTERVAL_MS = 10_000
/** Intervals without a new one before the file counts as old. */
const INTERVALS = 3

/** The producer's state by `run/health.json`, which it writes anew at an interval of its own. */
export function producerState(location: StoreLocation, nowMs: number = Date.now()): ProducerState {
  if (location.storeDir === undefined)
    return unknown('an events directory alone says nothing about a producer')
  const path = storePaths(location.storeDir).health
  let writtenMs: number
  let health: JsonObject
  try {
    writtenMs = statSync(path).mtimeMs
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'))
    health = isJsonObject(value) ? value : {}
  } catch {
    return unknown('there is no run/health.json that can be read')
  }
  return judgeHealth(health, writtenMs, nowMs, isAlive)
}

/** The judgement itself, from what the file holds. */
export function judgeHealth(
  health: JsonObject,
  writtenMs: number,
  nowMs: number,
  alive: (pid: number) => boolean,
): ProducerState {
  const seenMs = Math.max(writtenMs, timeIn(health['updated']) ?? 0)
  const said = health['state'] ?? health['status']
  if (said === 'stopped' || said === 'down')
    return { state: 'down', seenMs, evidence: 'it says that it stopped' }
  const pid = health['pid']
  if (typeof pid === 'number' && Number.isSafeInteger(pid) && pid > 0 && !alive(pid)) {
    return { state: 'down', seenMs, evidence: `its process ${pid} is gone` }
  }
  const stated = health['interval_ms']
  const interval = typeof stated === 'number' && stated > 0 ? stated : INTERVAL_MS
  const fresh = nowMs - seenMs <= interval * INTERVALS
  return { state: fresh ? 'up' : 'stale', seenMs, evidence: 'run/health.json by its age' }
}

function unknown(evidence: string): ProducerState {
  return { state: 'unknown', seenMs: undefined, evidence }
}

function timeIn(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // A process that may not be signalled is there.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

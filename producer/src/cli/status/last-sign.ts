import { statSync } from 'node:fs'
import { isProcessAlive } from '@kim/cli-kit'
import { isJsonObject, type JsonObject, type StorePaths } from '@kim/manifest'
import { startKeyOf } from '../../effects/host.js'
import { readPlainFile } from '../../effects/plain-file.js'

/** What the files in `run/` say about the producer of a store, without asking it. */
export interface LastSign {
  /**
   * `running`: a process holds the lock. `hung`: one does, and gives no sign of life. `stopped`: the last one said
   * that it did. `gone`: it ended without a word. `never`: there is no sign of any. `unknown`: what one left cannot be
   * read.
   */
  readonly state: 'running' | 'hung' | 'stopped' | 'gone' | 'never' | 'unknown'
  readonly pid: number | undefined
  readonly started: string | undefined
  /** Age of the newest sign in milliseconds. */
  readonly ageMs: number | undefined
  /** What it last said about itself. */
  readonly health: JsonObject
}

/** Sign intervals that may pass before silence means something. */
const INTERVALS = 3
const INTERVAL_MS = 10_000

/** Reads the lock file and `run/health.json`. */
export function lastSign(paths: StorePaths, nowMs: number): LastSign {
  const holder = readObject(paths.lock)
  const pid = holder['pid']
  const health = readObject(paths.health)
  const isHeld = typeof pid === 'number' && isRunning(pid, holder['start_key'])
  // The lock was taken some milliseconds before the start that a producer tells of.
  const known = isHeld && health['pid'] !== pid ? holder : health
  const ageMs = ageOf(paths.health, nowMs)
  const interval = numberIn(health['interval_ms']) ?? INTERVAL_MS
  // Signs of an earlier life say nothing of one that has just begun.
  const isSilent = health['pid'] === pid && ageMs !== undefined && ageMs > interval * INTERVALS
  const left = stateOf(health, ageMs !== undefined)
  return {
    state: isHeld ? (isSilent ? 'hung' : 'running') : left,
    pid: isHeld ? pid : numberIn(health['pid']),
    started: typeof known['started'] === 'string' ? known['started'] : undefined,
    ageMs: isHeld || left !== 'unknown' ? ageMs : undefined,
    health,
  }
}

function stateOf(health: JsonObject, isThere: boolean): LastSign['state'] {
  if (health['state'] === undefined) return isThere ? 'unknown' : 'never'
  return health['state'] === 'stopped' ? 'stopped' : 'gone'
}

/** A pid may have been given to another process meanwhile; where the system tells, that is noticed. */
function isRunning(pid: number, startKey: unknown): boolean {
  if (!isProcessAlive(pid)) return false
  const key = startKeyOf(pid)
  return key === undefined || key === startKey
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function readObject(path: string): JsonObject {
  try {
    const value: unknown = JSON.parse(readPlainFile(path) ?? '')
    return isJsonObject(value) ? value : {}
  } catch {
    return {}
  }
}

function ageOf(path: string, nowMs: number): number | undefined {
  try {
    return Math.max(0, nowMs - statSync(path).mtimeMs)
  } catch {
    return undefined
  }
}

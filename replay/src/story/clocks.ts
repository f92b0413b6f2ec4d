/** What the clocks of two records say of the time between them. */
import type { ReadRecord } from '@kim/manifest'
import { timestampMs } from '../timestamp.js'

/** A span by each clock; null where that clock does not tell. */
export interface Span {
  readonly wall_ms: number | null
  /** Without sleep. */
  readonly mono_ms: number | null
  /** With sleep. */
  readonly boot_ms: number | null
  /** What the host slept. */
  readonly suspended_ms: number | null
  /** The machine was started anew in between. */
  readonly rebooted: boolean
}

/** Less than this is how exactly the clocks are read, not sleep. */
const JITTER_MS = 100

/** The wall clock of a record in milliseconds; NaN if it states none. */
export function wallOf({ ts }: Pick<ReadRecord, 'ts'>): number {
  return timestampMs(ts)
}

/** From one record to a later one. */
export function spanBetween(from: ReadRecord, to: ReadRecord): Span {
  const wall = wallOf(to) - wallOf(from)
  const wall_ms = Number.isNaN(wall) ? null : wall
  const mono = delta(from.clock?.mono_ms, to.clock?.mono_ms)
  const boot = delta(from.clock?.boot_ms, to.clock?.boot_ms)
  const rebooted = isReboot(from, to, wall_ms)
  if (rebooted) return { wall_ms, mono_ms: null, boot_ms: null, suspended_ms: null, rebooted }
  const slept = mono === null || boot === null ? null : Math.max(0, boot - mono)
  return {
    wall_ms,
    mono_ms: mono,
    boot_ms: boot,
    suspended_ms: slept === null || slept >= JITTER_MS ? slept : 0,
    rebooted,
  }
}

function delta(from: number | undefined, to: number | undefined): number | null {
  return from === undefined || to === undefined ? null : to - from
}

/** A clock that counts from the start of the machine runs backwards only over another start. */
function isReboot(from: ReadRecord, to: ReadRecord, wall: number | null): boolean {
  const [a, b] = [from.clock?.boot_ms ?? from.clock?.mono_ms, to.clock?.boot_ms ?? to.clock?.mono_ms]
  if (a === undefined || b === undefined) return false
  if (b < a) return true
  // One process outlives no machine; of another one it is a start if the machine is younger than the span.
  return from.writer !== to.writer && wall !== null && wall > 0 && b < wall
}

import type { ReadRecord } from '@kim/manifest'
import { PythonFloat } from './python-json.js'

/** One instant, read from several clocks at once. */
export interface ClockReadings {
  /** RFC 3339 with microseconds and `+00:00`. */
  readonly ts: string
  readonly monotonicMs: number | undefined
  readonly boottimeMs: number | undefined
}

/** The clocks as the older monitor printed them: seconds, and which constant each came from. */
export type MonitorClocks = {
  readonly wall: string
  readonly monotonic?: PythonFloat
  readonly boottime?: PythonFloat
  readonly src: { readonly monotonic?: string; readonly boottime?: string }
  readonly clock_defect?: {
    readonly kind: string
    readonly boottime: PythonFloat
    readonly boottime_src: string
    readonly monotonic: PythonFloat
  }
}

/** What the clocks are called where the journal was written. */
const SOURCES: Readonly<Partial<Record<NodeJS.Platform, { monotonic: string; boottime: string }>>> = {
  linux: { monotonic: 'CLOCK_MONOTONIC', boottime: 'CLOCK_BOOTTIME' },
  darwin: { monotonic: 'CLOCK_UPTIME_RAW', boottime: 'CLOCK_MONOTONIC_RAW' },
}

/** A platform that keeps one clock coarser than the other can read a pair inverted by as much as this. */
const RESOLUTION_MS = 10

/**
 * When a record was written. Consumers key lifecycle events on their `ts`, so two of one millisecond must
 * differ: the microseconds are `seq` modulo 1000.
 */
export function clockReadingsOf(record: Pick<ReadRecord, 'clock' | 'seq' | 'ts'>): ClockReadings {
  const at = Date.parse(record.ts ?? '')
  return {
    ts: microsecondTime(Number.isNaN(at) ? 0 : at, record.seq % 1000),
    monotonicMs: record.clock?.mono_ms,
    boottimeMs: record.clock?.boot_ms,
  }
}

/** `2026-06-10T14:03:22.114342+00:00`. */
export function microsecondTime(ms: number, micros: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}+00:00`
}

/** The three readings of a moment. What the platform cannot give is left out, never faked. */
export function monitorClocksOf(clocks: ClockReadings, platform: NodeJS.Platform): MonitorClocks {
  const { ts: wall, monotonicMs, boottimeMs } = clocks
  const names = SOURCES[platform] ?? { monotonic: 'monotonic', boottime: 'boottime' }
  const monotonic = monotonicMs === undefined ? undefined : seconds(monotonicMs)
  const boottime = boottimeMs === undefined ? undefined : seconds(boottimeMs)
  if (monotonicMs !== undefined && boottimeMs !== undefined && boottimeMs < monotonicMs) {
    // Sleep can only make boottime the larger one. Within the resolution the two are the same reading.
    if (monotonicMs - boottimeMs <= RESOLUTION_MS)
      return pair(wall, seconds(monotonicMs), seconds(monotonicMs), names)
    return {
      wall,
      monotonic: seconds(monotonicMs),
      src: { monotonic: names.monotonic },
      clock_defect: {
        kind: 'boottime_below_monotonic',
        boottime: seconds(boottimeMs),
        boottime_src: names.boottime,
        monotonic: seconds(monotonicMs),
      },
    }
  }
  return pair(wall, monotonic, boottime, names)
}

function pair(
  wall: string,
  monotonic: PythonFloat | undefined,
  boottime: PythonFloat | undefined,
  names: { readonly monotonic: string; readonly boottime: string },
): MonitorClocks {
  return {
    wall,
    ...(monotonic === undefined ? {} : { monotonic }),
    ...(boottime === undefined ? {} : { boottime }),
    src: {
      ...(monotonic === undefined ? {} : { monotonic: names.monotonic }),
      ...(boottime === undefined ? {} : { boottime: names.boottime }),
    },
  }
}

function seconds(ms: number): PythonFloat {
  return new PythonFloat(Math.round(ms * 1000) / 1e6)
}

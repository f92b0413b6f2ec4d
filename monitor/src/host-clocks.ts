import { uptime } from 'node:os'
import { type ClockReadings, microsecondTime } from './clock-readings.js'

/** The clocks of this machine, read together; `micros` tells moments of one millisecond apart. */
export function readHostClocks(micros: number): ClockReadings {
  const [seconds, nanoseconds] = process.hrtime()
  const steady = seconds * 1000 + nanoseconds / 1e6
  const ts = microsecondTime(Date.now(), micros % 1000)
  // What Node calls its steady clock counts sleep on macOS and does not on Linux.
  if (process.platform === 'darwin') return { ts, monotonicMs: undefined, boottimeMs: steady }
  if (process.platform !== 'linux') return { ts, monotonicMs: steady, boottimeMs: undefined }
  return { ts, monotonicMs: steady, boottimeMs: uptime() * 1000 }
}

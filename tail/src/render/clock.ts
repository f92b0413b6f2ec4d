const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `Jun 10 14:03:22`, as journalctl prints it. */
export function shortTime(ms: number, utc: boolean): string {
  const { month, day, time } = parts(ms, utc)
  return `${MONTHS[month - 1]} ${two(day)} ${time}`
}

/** `2026-06-10T14:03:22.114+00:00`, with the offset of its zone. */
export function isoTime(ms: number, utc: boolean): string {
  const { time, offsetMinutes } = parts(ms, utc)
  const sign = offsetMinutes < 0 ? '-' : '+'
  const minutes = Math.abs(offsetMinutes)
  const millis = String(((ms % 1000) + 1000) % 1000).padStart(3, '0')
  return `${isoDate(ms, utc)}T${time}.${millis}${sign}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}

/** `2026-06-10`. */
export function isoDate(ms: number, utc: boolean): string {
  const { year, month, day } = parts(ms, utc)
  return `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`
}

/** `14:03:22`. */
export function timeOfDay(ms: number, utc: boolean): string {
  return parts(ms, utc).time
}

/** `now`, `42s`, `5m`, `3h`, `2d`: how long ago, in one unit; times ahead of the clock are `now`. */
export function age(ms: number, nowMs: number): string {
  const seconds = Math.floor((nowMs - ms) / 1000)
  if (seconds < 1) return 'now'
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

/** The time of a record in milliseconds, or undefined where it has none that can be read. */
export function recordTimeMs(ts: string | undefined): number | undefined {
  const ms = Date.parse(ts ?? '')
  return Number.isNaN(ms) ? undefined : ms
}

interface Parts {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly time: string
  readonly offsetMinutes: number
}

function parts(ms: number, utc: boolean): Parts {
  const offsetMinutes = utc ? 0 : -new Date(ms).getTimezoneOffset()
  const shifted = new Date(ms + offsetMinutes * 60_000)
  return {
    year: shifted.getUTCFullYear(),
    month: shifted.getUTCMonth() + 1,
    day: shifted.getUTCDate(),
    time: `${two(shifted.getUTCHours())}:${two(shifted.getUTCMinutes())}:${two(shifted.getUTCSeconds())}`,
    offsetMinutes,
  }
}

function two(value: number): string {
  return String(value).padStart(2, '0')
}

import { parseDuration } from './quantity.js'

/** Units of a relative time in milliseconds. */
const UNIT_MS: Readonly<Record<string, number>> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
}

/** Examples of valid times, for error messages. */
export const TIME_EXAMPLES =
  '"15m", "-15m", "2 hours ago", "today", "yesterday", "14:30", "2026-06-10", "2026-06-10 14:30:00", an RFC 3339 time or @seconds'

/**
 * A time as people write it, in milliseconds since 1970, or undefined. A bare duration is in the past, because no person
 * asks for records of the future. Times without a zone are local unless `utc`.
 */
export function parseTime(text: string, nowMs: number, utc = false): number | undefined {
  const trimmed = text.trim()
  const day = (offset: number): number => startOfDay(nowMs, offset, utc)
  switch (trimmed.toLowerCase()) {
    case 'now':
      return nowMs
    case 'today':
      return day(0)
    case 'yesterday':
      return day(-1)
    case 'tomorrow':
      return day(1)
    default:
      return relative(trimmed, nowMs) ?? absolute(trimmed, nowMs, utc)
  }
}

function relative(text: string, nowMs: number): number | undefined {
  const duration = parseDuration(text.replace(/^[+-]/, '').replace(/\s*ago$/i, ''))
  if (duration !== undefined && /[a-z]/i.test(text))
    return text.startsWith('+') ? nowMs + duration : nowMs - duration
  const words = /^(\d+|an?)\s+(second|minute|hour|day|week)s?\s+ago$/i.exec(text)
  if (words === null) return undefined
  const count = /^\d+$/.test(words[1] ?? '') ? Number(words[1]) : 1
  return nowMs - count * (UNIT_MS[(words[2] ?? '').toLowerCase()] ?? 0)
}

function absolute(text: string, nowMs: number, utc: boolean): number | undefined {
  const epoch = /^@(\d{1,12})(\.\d{1,3})?$/.exec(text)
  if (epoch !== null) return Number(`${epoch[1]}${epoch[2] ?? ''}`) * 1000
  const clock = /^(\d{1,2}):(\d{2})(?::(\d{2}))?$/.exec(text)
  if (clock !== null) {
    const [hours, minutes, seconds] = [Number(clock[1]), Number(clock[2]), Number(clock[3] ?? 0)]
    if (hours > 23 || minutes > 59 || seconds > 59) return undefined
    return startOfDay(nowMs, 0, utc) + ((hours * 60 + minutes) * 60 + seconds) * 1000
  }
  const full =
    /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2}(?:\.\d{1,9})?)?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?$/i.exec(
      text,
    )
  if (full === null) return undefined
  const [, date = '', minutes = '00:00', seconds = ':00', zone] = full
  if (!isDay(date)) return undefined
  const suffix = zone === undefined ? (utc ? 'Z' : '') : /^(z|utc)$/i.test(zone) ? 'Z' : colonZone(zone)
  const at = Date.parse(`${date}T${minutes}${seconds}${suffix}`)
  return Number.isNaN(at) ? undefined : at
}

/** `Date` would read the 31st of February as a day in March. */
function isDay(date: string): boolean {
  const at = new Date(`${date}T00:00:00Z`)
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(date)
}

function colonZone(zone: string): string {
  return zone.includes(':') ? zone : `${zone.slice(0, 3)}:${zone.slice(3)}`
}

function startOfDay(nowMs: number, offset: number, utc: boolean): number {
  const now = new Date(nowMs)
  return utc
    ? Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() + offset)
    : new Date(now.getFullYear(), now.getMonth(), now.getDate() + offset).getTime()
}

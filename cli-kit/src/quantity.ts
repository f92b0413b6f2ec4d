/** Durations and sizes as people type them and as people read them. */

const MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const BYTES: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  k: 1024,
  kib: 1024,
  kb: 1000,
  m: 1024 ** 2,
  mib: 1024 ** 2,
  mb: 1e6,
  g: 1024 ** 3,
  gib: 1024 ** 3,
  gb: 1e9,
}

/** `250ms`, `15s`, `5m`, `2h`, `1d`, `1h30m`; a bare number is seconds. Milliseconds, or undefined. */
export function parseDuration(text: string): number | undefined {
  if (/^\d+(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000)
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) return undefined
  let total = 0
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g))
    total += Number(amount) * (MS[unit ?? ''] ?? 0)
  return Math.round(total)
}

/** `4096`, `64K`, `10MiB`, `1GB` in bytes, or undefined. */
export function parseBytes(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text)
  const unit = BYTES[(match?.[2] ?? 'none').toLowerCase()]
  return match === null || unit === undefined ? undefined : Math.round(Number(match[1]) * unit)
}

/** A count of bytes for a person. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let size = bytes
  let unit = 0
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024
    unit++
  }
  return `${unit === 0 || size >= 100 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`
}

/** A span of time for a person, two units at most: `350ms`, `4.2s`, `3m 10s`, `2h 5m`, `4d 3h`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)}s`
  if (!Number.isFinite(ms)) return `${ms}ms`
  const [big, small] = ms < 3_600_000 ? ['m', 's'] : ms < 86_400_000 ? ['h', 'm'] : ['d', 'h']
  const [size, part] = [MS[big] ?? 1, MS[small] ?? 1]
  const rest = Math.floor((ms % size) / part)
  return `${Math.floor(ms / size)}${big}${rest === 0 ? '' : ` ${rest}${small}`}`
}

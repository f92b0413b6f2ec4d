import { limits } from '@kim/manifest'
import { firstBytes } from './cut-text.js'
import type { MonitorEvent } from './monitor-event.js'
import { type PythonValue, pythonJson } from './python-json.js'

/** Members that identify an event: a line that cannot hold them whole must not be printed at all. */
const KEPT = new Set(['event', 'source', 'ts', 'id', 'persona', 'event_id', 'nonce', 'emitted', 'wake_class'])

/**
 * One event as a line that consumers take: they treat a longer one as damaged and would not wake. Text gives way
 * first, the longest first; undefined if not even the identity fits.
 */
export function monitorLine(event: MonitorEvent): string | undefined {
  const members: Record<string, PythonValue> = { ...event }
  for (;;) {
    const line = pythonJson(members)
    const excess = Buffer.byteLength(line) + 1 - limits.monitorLineBytesMax
    if (excess <= 0) return line
    if (!shorten(members, excess)) return undefined
  }
}

/** Cuts the longest member that may be cut; false when there is none left. */
function shorten(members: Record<string, PythonValue>, excess: number): boolean {
  const sizes = Object.entries(members)
    .filter(([name, value]) => !KEPT.has(name) && isCuttable(value))
    .map(([name, value]) => [name, Buffer.byteLength(pythonJson(value))] as const)
    .sort((a, b) => b[1] - a[1])
  const [name] = sizes[0] ?? []
  if (name === undefined) return false
  const value = members[name]
  if (typeof value === 'string') {
    // Escapes make a printed byte cost up to six: dividing keeps the cut from overshooting, the loop does the rest.
    members[name] = firstBytes(
      value,
      Math.max(0, Buffer.byteLength(value) - Math.max(1, Math.ceil(excess / 6))),
    )
  } else if (Array.isArray(value)) {
    members[name] = value.slice(0, Math.floor(value.length / 2))
  }
  return true
}

function isCuttable(value: PythonValue): boolean {
  return (typeof value === 'string' && value !== '') || (Array.isArray(value) && value.length > 0)
}

import type { JsonObject, JsonValue } from '@kim/manifest'

/**
 * Whether a line is what the encoder makes of its value, found out by the engine's own serialiser, which is
 * several times faster. Says no where only the encoder can tell: keys the engine reorders, or U+FEFF.
 */
export function isPlainlyCanonical(value: JsonObject, bytes: Uint8Array): boolean {
  if (!ascends(value)) return false
  const line = JSON.stringify(value)
  return !line.includes('\ufeff') && Buffer.compare(Buffer.from(line), bytes) === 0
}

/** Whether the keys of every object, at every depth, ascend. */
function ascends(value: JsonValue | undefined): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (Array.isArray(value)) return value.every(ascends)
  let last: string | undefined
  for (const [key, member] of Object.entries(value)) {
    if (last !== undefined && key < last) return false
    if (!ascends(member)) return false
    last = key
  }
  return true
}

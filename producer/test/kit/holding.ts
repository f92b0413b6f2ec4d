import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

/** Every file below a directory in whose bytes, unpacked where they are packed, a text stands. */
export function holding(directory: string, text: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .filter(path => {
      const bytes = readFileSync(path)
      return (path.endsWith('.gz') && bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).includes(text)
    })
}

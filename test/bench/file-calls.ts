/** Counts what this process asks of the file system. Imported before what is to be counted. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** Calls by name since the start, and the bytes that were read. */
export const fileCalls: { bytes: number; readonly calls: Record<string, number> } = { bytes: 0, calls: {} }

const functions = fs as unknown as Record<string, (...args: unknown[]) => unknown>
for (const name of ['fstatSync', 'lstatSync', 'openSync', 'readSync', 'readdirSync', 'statSync']) {
  const real = functions[name]
  if (real === undefined) continue
  fileCalls.calls[name] = 0
  // No more arguments than any of them takes, and none gathered: what is measured pays for the counting too.
  functions[name] = (a, b, c, d, e) => {
    ;(fileCalls.calls[name] as number)++
    const result = real(a, b, c, d, e)
    if (name === 'readSync') fileCalls.bytes += result as number
    return result
  }
}
syncBuiltinESMExports()

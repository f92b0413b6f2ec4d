/** Counts what this process asks of the file system. Imported before what is to be counted. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** Calls by name since the start, and the bytes that were read. */
export const fileCalls: { bytes: number; readonly calls: Record<string, number> } = { bytes: 0, calls: {} }

const functions = fs as unknown as Record<string, (...args: unknown[]) => unknown>
for (const name of ['fstatSync', 'lstatSync', 'openSync', 'readSync', 'readdirSync', 'statSync']) {
  const real = functions[name]
  if (real === undefined) continue
  functions[name] = (...args) => {
    fileCalls.calls[name] = (fileCalls.calls[name] ?? 0) + 1
    const result = real(...args)
    if (name === 'readSync') fileCalls.bytes += Number(result)
    return result
  }
}
syncBuiltinESMExports()

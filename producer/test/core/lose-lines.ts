import { Buffer } from 'node:buffer'
import { readFileSync, writeFileSync } from 'node:fs'
import type { CoreHarness } from './core-harness.js'

/** The process ends, and a power loss leaves zeros for these lines of its segment; says how many. */
export function loseLines(desk: CoreHarness, isLost: (line: string) => boolean): number {
  desk.journal.close()
  const path = desk.store.segment()
  const lines = readFileSync(path)
    .toString()
    .split(/(?<=\n)/)
  writeFileSync(path, lines.map(line => (isLost(line) ? zeros(line) : line)).join(''))
  desk.story()
  return lines.filter(isLost).length
}

const zeros = (line: string): string => `${'\0'.repeat(Buffer.byteLength(line) - 1)}\n`

import type { Io } from './flag-table.js'
import { safeText } from './safe-text.js'

/** Prints a report: one JSON object, or lines for a person in which nothing is anything but text. */
export function printReport(io: Io, asJson: boolean, facts: unknown, text: string): void {
  const lines = asJson ? [JSON.stringify(facts)] : text.split('\n').map(line => safeText(line))
  io.stdout.write(`${lines.join('\n')}\n`)
}

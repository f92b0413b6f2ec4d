import { safeJson, safeText } from '@kim/manifest'
import type { Io } from './flag-table.js'

/** Prints a report: one JSON object, or lines for a person, of which no text in them can make more. */
export function printReport(io: Io, asJson: boolean, facts: unknown, lines: readonly string[]): void {
  const shown = asJson ? [safeJson(JSON.stringify(facts))] : lines.map(line => safeText(line))
  io.stdout.write(shown.map(line => `${line}\n`).join(''))
}

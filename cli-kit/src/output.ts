import { safeJson, safeText } from '@kim/manifest'
import type { Io } from './flag-table.js'

/** Prints a report: one JSON object, or lines for a person. Text from outside cannot add lines. */
export function printReport(io: Io, asJson: boolean, facts: unknown, lines: readonly string[]): void {
  const shown = asJson ? [safeJson(JSON.stringify(facts))] : lines.map(line => safeText(line))
  io.stdout.write(shown.map(line => `${line}\n`).join(''))
}

/** A name as one word of a POSIX shell, so that a command in a hint can be copied. */
export function shellWord(name: string): string {
  return /^[\w./:@-]+$/.test(name) ? name : `'${name.replaceAll("'", `'\\''`)}'`
}
